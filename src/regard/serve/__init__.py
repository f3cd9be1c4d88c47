"""The HTTP API: translations, what the model looked at, and the page that shows both."""
