"""Where counts and learned laws stop, and the numbers that they are tuned by: all of them public."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class CentralLimits:
    """One number for each; where two stand together, the second one's text is about both."""

    cells: int = 4_000_000
    """A table with more would take minutes of noise alone."""
    clear: int = 4
    """What is below so many scales of its noise counts as empty: noise alone passes in about 1 % (e⁻⁴/2)."""
    clipped_weight: float = 0.6
    """How much a share that is cut off weighs against as much noise, when a bound is chosen."""
    nominal_cells: int = 100
    """Where the number of cells is a secret: a bound is chosen as if so many of them were just below the threshold."""
    much_clipped: float = 0.05
    """A bound that cuts off more than this share makes a table that a reader would take for another one: a warning."""
    unknown_bound: int = 4
    """The bound where every bin drowns in noise."""
    sums: int = 50_000_000
    """Numbers that the forward pass keeps: symbols × zones × positions."""
    dense: int = 4
    """Where a move in so many exists of all pairs of symbols, pairs are reckoned with instead of moves."""
    weights_at_once: int = 8_000_000
    """Of the choices of one step, for all words that are drawn together: it bounds memory."""
    farthest: float = 12.0
    """How far a parameter goes from where it begins: a factor of e¹², as good as never or always."""
    tolerance: float = 0.1
    """A fit ends where no cell is farther than this from what the law expects of it, in deviations of such a count."""
    mistrust: float = 0.05
    """Tables are counts of persons, and the law has not all of their words: a cell of y is not trusted beyond this
    share of √y, however little noise it has. Without it tables that no law can have at once drive parameters apart."""
    least_doubted: float = 0.1
    """Of what count an empty cell is doubted."""
    rounds: int = 20
    """How often the weights of moves are brought up to the law at most; with more noise two or three are enough."""
    free: float = 0.01
    """How much the parameter of a class is held back, compared with that of a cell."""
    log_steps: int = 60
    """Of the quasi-Newton method, for each round."""
    log_rounds: int = 2
    """How often the weights of moves are brought up to the law that was fitted before."""
    log_held: float = 0.005
    """c: how much a parameter is held back. Cells that drown in noise were set to 0 before, so little is needed."""
    turns: int = 8
    """Into how many sectors directions are divided."""
    rings: int = 8
    """Into how many classes distances between zones are divided, up to the largest."""
    repeats: int = 4
    """The bound of the table of repeats: a person with more pairs of a case and a repeated activity is scaled down."""
    rarely: float = 0.1
    """An activity that fewer than this share of all cases repeat, and fewer than this share of all that have it, as far
    as noise lets that be seen, is one that a case has at most once."""
    fewest_cases: float = 50.0
    """The least number of cases that a table of lengths is taken to speak of, for that rule."""
    probes: int = 20_000
    fewest_probes: int = 2000
    """Draws by which it is found out how many words of each length obey the rules; the fewer, the more activities."""
    probed_symbols: int = 2_000_000
    least_obeyed: float = 0.05
    """Lengths of which a smaller share of words obeys the rules are given up."""
    given_up: float = 0.2
    """The share of all words that lengths may have which are given up; where it is more, rules are withdrawn."""
    blurred: float = 0.5
    drowned: float = 2.0
    """From which noise on, relative to what persons add, a table is blurred, and from which on it is mostly noise."""
    draws: int = 1000
    """Where fewer than one of so many words obeys the rules, rejection is given up."""
    first_draws: int = 256
    draws_at_once: int = 50_000
    mean_cells: int = 1 << 14
    """How finely the interval of a mean is searched for, as parts of the cap."""
    long: int = 4 * 3600
    day_long: int = 86_400
    """From which lower edge of its bin on a wait is long, and long enough that its weekday is learned."""
    own_row: float = 4.0
    clock_row: float = 8.0
    """A row needs so many deviations of the noise in expected weight."""
    judging_words: int = 5000
    """Words of the released law by which rows are chosen."""
    fewest_persons: float = 50.0
    floor: float = 0.0005
    """The least share of a bin in what rows have in common: a bin without any weight would stay empty in every row."""
    newton: int = 60
    candidates: int = 48
    fitted_words: int = 2000
    """The least number of words that the choice among candidates is fitted on, however few are asked for."""
    most_fitted_words: int = 10_000
    tilt_rounds: int = 60
    tilt_step: float = 0.7
    steepest_tilt: float = 8.0
    tilt_slack: float = 1e-4
    waits_at_once: int = 1_000_000
    """Waits that are drawn together: it bounds memory."""
    near: int = 12 * 3600
    far: int = 7 * 86_400 // 2
    """How far long waits move to a likely hour, and those of two days and more to a likely day."""
    far_from: int = 2 * 86_400


LIMITS = Adjustable(CentralLimits())
