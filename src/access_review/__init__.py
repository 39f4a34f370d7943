"""An old name: see `secure_datasets.old_names`."""

from secure_datasets.old_names import moved

__getattr__ = moved(__name__, "secure_datasets.review")
