"""What may be asked for, and what is meant if nothing is.

Apart from the metrics themselves, so that a command's help loads none of them.
"""

from typing import Literal

MetricName = Literal["bleu", "chrf", "ter", "exact"]

# Those of sacreBLEU's tokenisers that need neither a download nor another package.
Tokenize = Literal["13a", "intl", "zh", "char", "none"]
TOKENIZE: Tokenize = "13a"

# The languages of Multi30k.
Language = Literal["cs", "de", "en", "fr"]

SAMPLES = 1000
