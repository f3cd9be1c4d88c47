"""What may be asked for by name; apart from the metrics, so that a command's help loads none."""

from typing import Literal

MetricName = Literal["bleu", "chrf", "ter", "exact"]

# Those of sacreBLEU's tokenisers that need neither a download nor another package.
Tokenize = Literal["13a", "intl", "zh", "char", "none"]

# The languages of Multi30k.
Language = Literal["cs", "de", "en", "fr"]
