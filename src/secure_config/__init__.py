"""An old name: see `secure_datasets.old_names`."""

from secure_datasets.old_names import moved

__getattr__ = moved(
    __name__,
    "secure_datasets.sql",
    "secure_datasets.config",
    "secure_datasets.render",
    "secure_datasets",
    clock="clock_texts",
    source="document",
    adapter="macro_methods",
    calls="function_calls",
)
