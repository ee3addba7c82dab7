"""One function per user task: objects in, a frozen result out.

Lives here: what a command of the command line, or a panel of the studio, needs done from end to end.
May not live here: parsing of options, printing, mathematics.
Stands on everything but studio and cli.
"""
