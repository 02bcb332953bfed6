"""Other people's formats, in and out."""

from heedful.interop.ctranslate2 import build_spec, export_ctranslate2
from heedful.interop.marian import export_marian, import_marian

__all__ = ["build_spec", "export_ctranslate2", "export_marian", "import_marian"]
