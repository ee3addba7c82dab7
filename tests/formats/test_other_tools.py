"""Files of other tools in the shapes that these tools write; every fixture here was written for this test.

Shapes: PRISM's `.tra`, `.lab`, `.sta`, `.srew` (prismmodelchecker/prism, prism-tests/functionality/{import,export});
Storm's `.tra` with `.lab`, and `.drn` (moves-rwth/storm, resources/examples/testfiles); declarations
(alianoroozi/PRISM-Leak, prism-interleak/examples); `.gen` (FGDES/libFAUDES, plugins/diagnosis/tutorial/data); `.wmod`
(kyllercg/tutorial-supremica); `.fsm` with zeros (CASA-Goes-Lab/PSU-MDESops, tests/models/dfa_test1.fsm).
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import ModelError, SymveilError
from symveil.formats.models.model_files import load_labelled_chain, load_model
from symveil.formats.models.wmod_files import read_wmod_parts
from symveil.tasks.opacity import load_system

PRISM = {
    "coin.tra": "4 6\n0 2 0.5\n0 3 0.5\n1 2 0.25\n1 3 0.75\n2 2 1\n3 3 1\n",
    "coin.lab": '0="init" 1="deadlock" 2="heads" 3="done"\n0: 0\n1: 0\n2: 2 3\n3: 3\n',
    "coin.sta": "(pay,out)\n0:(1,0)\n1:(2,0)\n2:(1,1)\n3:(1,2)\n",
}
STORM = {
    "coin.tra": "dtmc\n0 0 0\n0 2 0.5\n0 3 0.5\n1 2 0.25\n1 3 0.75\n2 2 1\n3 3 1\n",
    "coin.lab": "#DECLARATION\ninit deadlock heads done\n#END\n0 init\n1 init\n2 heads done\n3 done\n",
}
DRN = """// Exported by storm
// Original model type: DTMC
@type: DTMC
@value_type: double
@parameters

@reward_models
coinflips
@nr_states
4
@nr_choices
4
@model
state 0 [1] init
//[pay=1\t& out=0]
\taction 0 [0]
\t\t2 : 0.5
\t\t3 : 0.5
state 1 [1] init
//[pay=2\t& out=0]
\taction 0
\t\t2 : 0.25
\t\t3 : 3/4
state 2 [0] heads done
//[pay=1\t& out=1]
\taction 0
\t\t2 : 1
state 3 [0] done
//[pay=1\t& out=2]
\taction 0
\t\t3 : 1
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / next(iter(files))


def test_prism_storm_and_drn_are_one_chain(tmp_path: Path) -> None:
    for name in ("prism", "storm", "drn"):
        (tmp_path / name).mkdir()
    prism = load_labelled_chain(written(tmp_path / "prism", PRISM))
    notes: list[str] = []
    storm = load_labelled_chain(written(tmp_path / "storm", STORM), notes=notes)
    drn = load_labelled_chain(written(tmp_path / "drn", {"coin.drn": DRN}))
    assert prism.states == ("pay=1&out=0", "pay=2&out=0", "pay=1&out=1", "pay=1&out=2") == drn.states
    assert storm.states == ("0", "1", "2", "3")
    assert prism.labels == storm.labels == drn.labels == ("", "", "done+heads", "done")
    assert [row[2] for row in prism.transitions] == [row[2] for row in storm.transitions]
    assert prism == drn
    assert any("1 transitions of probability 0 were left out" in note for note in notes)


def test_comments_of_newer_exports(tmp_path: Path) -> None:
    files = {name: f"# an export\n{text}" for name, text in PRISM.items()}
    assert load_model(written(tmp_path, files)).states[1] == "pay=2&out=0"
    (transitions,) = (name for name in PRISM if name.endswith(".tra"))
    for kind in ("DTMC", "CTMC", "IDTMC", "MDP"):  # rates that sum to 1 are no probabilities
        head = files | {transitions: f"# Transitions ({kind})\n{PRISM[transitions]}"}
        if kind == "DTMC":
            assert load_model(written(tmp_path, head)).states[1] == "pay=2&out=0"
        else:
            with pytest.raises(SymveilError, match=f"line 1: expected a Markov chain, DTMC, found {kind}"):
                load_model(written(tmp_path, head))


def test_pairs_by_the_values_of_variables(tmp_path: Path) -> None:
    file = written(tmp_path, PRISM)
    chain = load_labelled_chain(file)
    assert chain.state("pay=2") == "pay=2&out=0"
    assert chain.state("pay=1 & out=2") == "pay=1&out=2"
    done = symveil("verify", str(file), "--alpha", "1", "--pair", "out=0&pay=1,pay=2", "--json")
    assert done.document["pairs"][0]["lv_exact"] == "1/4", done.err
    # of pay=1 there are three states; two of them are come to from outside
    refused = symveil("verify", str(file), "--alpha", "1", "--pair", "pay=1,pay=2")
    assert refused.status == 2
    assert "pair: expected a state, or values that one state has" in refused.err
    assert "name more variables" in refused.err
    with pytest.raises(ModelError, match="states of the chain, or values of their variables, found 'pay=9'"):
        chain.state("pay=9")


def test_a_value_that_is_kept_means_where_it_begins() -> None:
    rows = [("pay=1&s=0", "pay=1&s=1", 1), ("pay=1&s=1", "pay=1&s=0", "1/2"), ("pay=1&s=1", "pay=1&s=1", "1/2")]
    rows += [("start=0", "pay=1&s=0", 1)]
    chain = sv.LabelledChain.from_transitions(rows, labels={"pay=1&s=0": "a", "pay=1&s=1": "b", "start=0": "c"})
    notes: list[str] = []
    assert chain.state("pay=1", notes=notes) == "pay=1&s=0"
    assert notes == ["pay=1 holds in 2 states; taken is pay=1&s=0, in which runs come to it"]


PROGRAM = """dtmc
// observable nothing : bool;
global secret pay : [1..2];
module m
  observable out : [0..2];  // what everybody sees
  [] out=0 -> 1/2 : (out'=1) + 1/2 : (out'=2);
endmodule
"""


def test_declarations_of_a_program(tmp_path: Path) -> None:
    file = written(tmp_path, {**PRISM, "coin.pm": PROGRAM})
    notes: list[str] = []
    chain = load_labelled_chain(file, notes=notes)
    assert chain.labels == ("out=0", "out=0", "out=1", "out=2")
    assert chain.related == (("pay=1&out=0", "pay=2&out=0"),)
    assert sum("coin.pm declares observable" in note for note in notes) == 1
    assert sv.verify_privacy(chain, alpha=1).delta.upper == Fraction(1, 4)
    (tmp_path / "coin.lab").unlink()  # then nothing says where runs begin
    assert load_labelled_chain(file).related == ()
    (tmp_path / "coin.pm").write_text(PROGRAM.replace("secret pay", "secret money"))
    with pytest.raises(SymveilError, match="expected variables of the file of states, found money"):
        load_labelled_chain(file)


def test_rewards_may_be_what_is_seen(tmp_path: Path) -> None:
    file = written(tmp_path, PRISM)
    (tmp_path / "coin.srew").write_text('# Reward structure: "r"\n# State rewards\n4 2\n2 1\n3 0.5\n')
    assert load_labelled_chain(file, labels=tmp_path / "coin.srew").labels == ("0", "0", "1", "0.5")
    (tmp_path / "coin.srew").write_text("2 1\n3 0.5\n")  # Storm's
    assert load_labelled_chain(file, labels=tmp_path / "coin.srew").labels == ("0", "0", "1", "0.5")
    (tmp_path / "coin.srew").write_text("9 1\n")
    with pytest.raises(SymveilError, match="line 1: expected a state below 4, found 9"):
        load_labelled_chain(file, labels=tmp_path / "coin.srew")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coin.tra": "mdp\n0 0 0 1\n"}, "line 1: expected a Markov chain, dtmc, found mdp"),
        ({"coin.tra": "4 4 6\n0 0 2 0.5\n"}, "line 1: expected the number of states and of transitions of a Markov"),
        ({"coin.tra": "dtmc\n"}, "expected at least one transition, found none"),
        ({"coin.sta": "(s)\n0:(1)\n"}, "expected all 4 states, found 1"),
        ({"coin.sta": "(s)\n0:(1)\n1:(1)\n"}, "line 3: expected each state once, with values of its own, found 1"),
        ({"coin.sta": "(s)\n0:(1,2)\n"}, r"line 2: expected a state and 1 values such as 0:\(0\)"),
        ({"coin.sta": "s\n"}, r"line 1: expected variables such as \(s,d\), found 's'"),
        ({"coin.lab": "#DECLARATION\nheads\n0 heads\n"}, "expected #END after the labels"),
        ({"coin.lab": "#DECLARATION\nheads\n#END\n0 tails\n"}, "line 4: expected labels that are declared before #END"),
        ({"coin.lab": "#DECLARATION\nheads heads\n#END\n"}, "expected each label name once, found 'heads' twice"),
    ],
)
def test_explicit_files_that_are_refused(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(SymveilError, match=message):
        load_labelled_chain(written(tmp_path, {**PRISM, **changes}))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@type: DTMC", "@type: MDP", "line 3: expected a Markov chain, @type: DTMC, found 'MDP'"),
        ("double", "double-interval", "line 4: expected probabilities"),
        ("@parameters\n\n", "@parameters\np q\n", "line 6: expected a chain without parameters, found 'p q'"),
        ("\taction 0 [0]\n", "\taction 0 [0]\n\taction 1\n", "line 17: expected one action in each state"),
        ("\t\t3 : 3/4", "\t\t7 : 3/4", "line 23: expected a state below 4, found 7"),
        ("\t\t3 : 3/4", "\t\t3 : 1/4", "expected the probabilities of state 'pay=2&out=0' to sum to 1"),
        ("state 2", "state 5", "line 24: expected state 2, in order, found state 5"),
        ("[pay=1\t& out=2]", "[pay=1]", "expected the values of the same variables in every state"),
        ("nr_states\n4", "nr_states\n5", "expected 5 states, as @nr_states says, found 4"),
    ],
)
def test_drn_files_that_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in DRN
    with pytest.raises(SymveilError, match=message):
        load_model(written(tmp_path, {"coin.drn": DRN.replace(old, new, 1)}))


# --- automata ----------------------------------------------------------------------------------

GEN = """<Generator>
"plant"   % its name
<Alphabet>
"alpha" +C+  "beta"
"fault" +o+
</Alphabet>
<States>
1 2 "down now"
</States>
<TransRel>
1 "alpha" 2
2 "fault" "down now"
"down now" "beta" 1
</TransRel>
<InitStates> 1 2 </InitStates>
<MarkedStates> 1 </MarkedStates>
</Generator>
"""
WMOD = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<Module xmlns="http://waters.sourceforge.net/xsd/module" xmlns:B="http://waters.sourceforge.net/xsd/base" Name="m">
<EventDeclList>
<EventDecl Kind="PROPOSITION" Name=":accepting"/>
<EventDecl Kind="CONTROLLABLE" Name="alpha"/>
<EventDecl Kind="UNCONTROLLABLE" Name="beta"/>
<EventDecl Kind="UNCONTROLLABLE" Name="fault" Observable="false"/>
</EventDeclList>
<ComponentList>
<SimpleComponent Kind="PLANT" Name="plant"><Graph>
<NodeList>
<SimpleNode Initial="true" Name="1"><EventList><SimpleIdentifier Name=":accepting"/></EventList></SimpleNode>
<SimpleNode Initial="true" Name="2"/><SimpleNode Name="down now"/>
</NodeList>
<EdgeList>
<Edge Source="1" Target="2"><LabelBlock><SimpleIdentifier Name="alpha"/></LabelBlock></Edge>
<Edge Source="2" Target="down now"><LabelBlock><SimpleIdentifier Name="fault"/></LabelBlock></Edge>
<Edge Source="down now" Target="1"><LabelBlock><SimpleIdentifier Name="beta"/></LabelBlock></Edge>
</EdgeList></Graph></SimpleComponent>
</ComponentList></Module>
"""


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("<System>", "</System>"), ('<Generator name="SupCon(a,b)" ftype="System">', "</Generator>")],
)
def test_openings_of_libfaudes(tmp_path: Path, opening: str, closing: str) -> None:
    text = "% a comment\n" + GEN.replace("<Generator>", opening).replace("</Generator>", closing)
    assert load_model(written(tmp_path, {"o.gen": text})) == load_model(written(tmp_path, {"p.gen": GEN}))
    with pytest.raises(SymveilError, match="begins with <Generator>, found the type 'RabinAutomaton'"):
        load_model(written(tmp_path, {"r.gen": GEN.replace("<Generator>", '<Generator ftype="RabinAutomaton">')}))


def test_libfaudes_and_supremica(tmp_path: Path) -> None:
    gen, wmod = (load_model(written(tmp_path, {name: text})) for name, text in (("p.gen", GEN), ("p.wmod", WMOD)))
    assert gen == wmod
    assert gen.initial == ("1", "2")
    assert gen.observable == ("alpha", "beta")
    assert gen.transitions[1] == ("2", "fault", "down now")
    done = symveil("opacity", str(tmp_path / "p.gen"), "--secret", "down now", "--initial", "1", "--json")
    assert done.document["holds"] is True
    assert "marked states are not secret" in done.err


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("p.gen", "</Generator>", "", "expected </Generator>, found the end of the file"),
        ("p.gen", "<Generator>", "<?xml?>", "format of tokens, found its XML format"),
        ("p.gen", "<InitStates> 1 2 </InitStates>", "", "at least one state in <InitStates>, found none"),
        ("p.gen", '2 "fault"', '2 "other"', "expected events of the alphabet, found 'other'"),
        ("p.gen", "+o+", "+0x4+", "line .*expected flags of an event"),
        ("p.gen", '1 "alpha" 2\n', '1 "alpha"\n', "expected a state, an event and a state in each transition"),
        ("p.wmod", "</ComponentList>", '<SimpleComponent Name="b"/></ComponentList>', "one automaton.*found 2"),
        ("p.wmod", "<LabelBlock>", "<GuardActionBlock/><LabelBlock>", "edges without guards and actions"),
        ("p.wmod", 'Initial="true"', "", "Initial="),
        ("p.wmod", 'Target="2"', 'Target="9"', "expected edges between states of the automaton, found '9'"),
        ("p.wmod", "<Module", "<!DOCTYPE x><Module", "could be a bomb"),
    ],
)
def test_automata_that_are_refused(tmp_path: Path, name: str, old: str, new: str, message: str) -> None:
    text = GEN if name == "p.gen" else WMOD
    assert old in text
    changed = text.replace(old, new) if old == 'Initial="true"' else text.replace(old, new, 1)
    with pytest.raises(SymveilError, match=message):
        load_model(written(tmp_path, {name: changed}))


def test_dialects_of_fsm(tmp_path: Path) -> None:
    """A zero for the letter o was read as a probability; a line without an event as one whose event is its target."""
    notes: list[str] = []
    text = "3\n\n0\t0\t3\na\t1\tc\to\nb\t2\tc\t0\nd\t2\tuc\tu0\n\n1\t0\t1\n\t2\tuc\tuo\n\n2\t0\t0\n"
    system = load_model(written(tmp_path, {"z.fsm": text}), notes=notes)
    assert isinstance(system, sv.LogicalSystem)
    assert system.observable == ("a", "b")
    assert system.transitions == (("0", "a", "1"), ("0", "b", "2"), ("0", "d", "2"), ("1", "ε", "2"))
    assert any("a zero was read as the letter o in 2 marks" in note for note in notes)
    assert any("1 moves without an event are unobservable" in note for note in notes)
    stochastic = "2\n\n0\t0\t1\na\t1\tc\t0\t1\n\n1\t0\t0\n"
    assert load_model(written(tmp_path, {"p.fsm": stochastic})).transitions == (("0", "a", "1", Fraction(1)),)
    for wrong, message in (
        (text.replace("\t2\tuc\tuo", "\t2\tuc\to"), "line 9: expected an event, or uo where there is none"),
        (text.replace("\n2\t0\t0", "\nuc\t0\t0").replace("\t2\tu", "\t1\tu").replace("b\t2", "b\t1"), "in two ways"),
    ):
        with pytest.raises(SymveilError, match=message):
            load_model(written(tmp_path, {"w.fsm": wrong}))


# --- drawings ----------------------------------------------------------------------------------

DRAWN = 'digraph { node [shape=point]; s; node [shape=circle]; s -> a; a -> b [label="go"]; b -> a [label=back] }'


@pytest.mark.parametrize(
    "text",
    [
        DRAWN,
        'digraph { "" [shape=none]; "" -> a; a -> b [label="go"]; b -> a [label=back] }',
        'digraph { q [style=invis]; a; b; q -> a; a -> b [label="go"]; b -> a [label=back]; }',
        'digraph { i [shape=plaintext, label=""]; a; b; i -> a; edge [label=go]; a -> b; edge [label=back]; b -> a }',
    ],
)
def test_labels_of_a_drawing_are_events(tmp_path: Path, text: str) -> None:
    model = load_model(written(tmp_path, {"d.dot": text}))
    assert model == sv.TransitionSystem.from_transitions([("a", "go", "b"), ("b", "back", "a")], initial="a")
    system = load_system(tmp_path / "d.dot", secret=["b"])
    assert not sv.verify_opacity(system).holds


def test_states_of_a_drawing_are_its_nodes(tmp_path: Path) -> None:
    notes: list[str] = []
    drawn = 'digraph { i [style=invis] n0 [label="idle"] i -> n0; n0 -> n0 [label=go] }'
    assert load_model(written(tmp_path, {"d.dot": drawn}), notes=notes).states == ("n0",)
    assert any("called by the names of their nodes" in note for note in notes)


def test_drawings_of_chains_stay_chains(tmp_path: Path) -> None:
    plain = "digraph { i [style=invis]; i -> a; a -> b; b -> a }"
    chain = load_model(written(tmp_path, {"d.dot": plain}))
    assert chain == sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)], initial="a")
    both = 'digraph { i [style=invis]; i -> a; a -> b [label=x probability=1]; b -> a [label=y probability="1.0"] }'
    assert isinstance(load_model(written(tmp_path, {"d.dot": both})), sv.StochasticSystem)
    notes: list[str] = []
    named = "digraph { a -> b [label=x weight=1]; b -> a [label=y weight=3] }"
    assert isinstance(load_model(written(tmp_path, {"d.dot": named}), notes=notes), sv.MarkovChain)
    assert any("labels of edges were not read" in note for note in notes)
    binary = "digraph { i [style=invis]; i -> a; a -> b [label=0]; a -> a [label=1]; b -> a [label=0] }"
    assert isinstance(load_model(written(tmp_path, {"d.dot": binary})), sv.TransitionSystem)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph { a -> b [label=go]; b -> a }", "a label on every edge, its event, or on none, found none on 1 of 2"),
        ("digraph { a -> b [label=go]; b -> a [label=back] }", "an invisible node .* to where runs begin, found none"),
        ("digraph { i [style=invis] i -> a; a -> b [label=0.5]; a -> a [label=0.5]; b -> a [label=1] }", "either: num"),
        ('digraph { i [style=invis] i -> a; a -> a [label="x, y"] }', "one event; draw an edge for each"),
        ("digraph { i [style=invis] i -> a; a -> i [label=x] }", "one that is part of runs"),
        (
            "digraph { i [style=invis] i -> a; a -> a [label=<x<FONT>1/2</FONT>>] }",
            "found one with markup",
        ),
        ("digraph { i [style=invis] i -> a [label=x]; a -> a [label=x] }", "one that is part of runs"),
    ],
)
def test_drawings_that_would_be_guessed(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SymveilError, match=message):
        load_model(written(tmp_path, {"d.dot": text}))


def test_an_unknown_ending_is_told_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.ptg").write_text("nothing")
    with pytest.raises(
        SymveilError, match=r"ending in \.json, \.csv.*\.wmod, \.tra, \.lab, \.drn or \.umb, perhaps with"
    ):
        load_model(tmp_path / "m.ptg")


def test_initial_states_on_the_command_line() -> None:
    medical = Path(__file__).parents[2] / "examples" / "medical.json"
    one = symveil("opacity", str(medical), "--json").document
    states = sv.load_model(medical).states
    both = symveil("opacity", str(medical), "--initial", f"{states[0]}=1/2", "--initial", f"{states[1]}=1/2", "--json")
    assert both.document["violation_exact"] is True
    assert one["violation_exact"] is True
    listed = symveil("opacity", str(medical), "--initial", states[0], "--initial", states[1], "--json")
    assert listed.document["violation_probability"] is None
    assert listed.document["holds"] == both.document["holds"]
    assert "no probability of a violation is computed" in listed.err
    kind = symveil("opacity", str(medical), "--notion", "joint-2", "--k", "1", "--json").document
    assert (kind["notion"], kind["property"]) == ("joint-2", "joint-2 1-step opacity")


def test_properties_of_a_module_are_no_parts_of_the_system(tmp_path: Path) -> None:
    """Supremica asks about them (language inclusion); as a part one would take runs away."""
    component = WMOD[WMOD.index("<SimpleComponent") : WMOD.index("</ComponentList>")]
    never = '<SimpleComponent Kind="PROPERTY" Name="never"><Graph>'
    never += '<NodeList><SimpleNode Initial="true" Name="1"/></NodeList>'
    never += '<LabelBlock><SimpleIdentifier Name="beta"/></LabelBlock><EdgeList/></Graph></SimpleComponent>'
    notes: list[str] = []
    both = written(tmp_path, {"both.wmod": WMOD.replace(component, never + component)})
    assert load_model(both, notes=notes) == load_model(written(tmp_path, {"one.wmod": WMOD}))
    assert any("1 properties were left out" in note for note in notes)
    assert len(read_wmod_parts(both)) == 1
    alone = written(tmp_path, {"alone.wmod": WMOD.replace('Kind="PLANT"', 'Kind="PROPERTY"')})
    assert load_model(alone) == load_model(tmp_path / "one.wmod")
