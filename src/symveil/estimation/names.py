"""The names of the statistics that can be estimated: apart from numpy, because the command line reads them first."""

NGRAMS = "ngrams:K"
NAMES = ("visits", "first", "last", "positions", NGRAMS, "transitions", "od", "lengths", "presence")
"""As they are typed; "directly-follows" is another name of ngrams:2."""
CHOICES = (*NAMES, "directly-follows")
"""What the command line and the studio offer."""
LONGEST_GRAM = 8
"""The largest K."""
