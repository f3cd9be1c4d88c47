"""Errors a user can cause and mend: one line each, saying what, where, and what to do."""


class RegardError(Exception):
    """Base of every error that is the input's fault rather than ours."""


class ConfigError(RegardError):
    """A run file or an option that cannot be used as written."""


class DataError(RegardError):
    """A corpus that cannot be read or trained on."""


class DivergedError(RegardError):
    """A training whose loss or gradient is no longer a number."""


class ModelFileError(RegardError):
    """A run folder that is missing, damaged or not ours."""
