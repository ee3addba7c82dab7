"""What a system is: frozen data, validated once, with no off-switch.

Lives here: alphabets and words. Does not live here: counting, weighting or drawing (languages),
or any algorithm beyond reading a model.
"""
