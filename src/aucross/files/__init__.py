"""Files of fitted classifiers (written, checked, rebuilt, signed), and fingerprints of models and rules."""

from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.model_file import FileHeader, load, read_header, read_metadata, save

__all__ = ["FileHeader", "load", "model_fingerprint", "read_header", "read_metadata", "rule_fingerprint", "save"]
