"""One function per user task: objects in, a frozen result out.

Lives here: what a command of the command line, or a page of a report, needs done from end to
end. Does not live here: parsing of options, printing, mathematics.
"""
