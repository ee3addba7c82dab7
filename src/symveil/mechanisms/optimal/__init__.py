"""The table with the least expected error of all private mechanisms on one small language.

Lives here: the mechanism, its linear programme, and the law that whole numbers make of the programme's solution.
May not live here: a float that decides a draw or a loss: the solver only proposes.
"""
