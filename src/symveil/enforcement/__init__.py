"""Keeping a secret that verification says is given away: observations are replaced before they are shown (Z25 §5–6).

Lives here: the three policies of docs/opacity.md (`policies`), and what each of them achieves (`enforce`);
the synthesis of functions that insert and leave out events (docs/theory/chains-and-opacity.md).
May not live here: a mechanism or a verdict of its own: verification and mechanisms are used, not repeated.
Stands on verification and mechanisms.
"""
