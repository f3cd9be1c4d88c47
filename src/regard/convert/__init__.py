"""Other people's formats, in and out: Hugging Face's Marian folders, CTranslate2."""
