"""Files: what is read at the door and what is written on the way out.

Lives here: model files (`models`), files of sequences (`sequences`), alphabets and words as they are typed, manifests,
HTML pages.
May not live here: what the content means, or what may be released.
Stands on enforcement and all below it, beside ledger: neither imports the other.
"""
