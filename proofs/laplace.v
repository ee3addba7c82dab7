(* The discrete Laplace law (docs/theory/central.md, "Exact noise" and "Intervals").

   For 0 < q < 1 the whole number z has the mass (1-q)/(1+q) q^|z|. With q = exp(-1/scale) that is proportional to
   exp(-|z|/scale).

   laplace_tail: the masses of m, m+1, m+2 ... add up to at_least m, which is q^m/(1+q) for m >= 0.
   laplace_sums_to_one: the masses from -n to n-1 add up to a number that tends to 1. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences.
From mathcomp Require Import ring.
From symveil Require Import limits.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Laplace.
Variables (R : realType) (q : R).
Hypotheses (q_gt0 : 0 < q) (q_lt1 : q < 1).

Definition laplace (z : int) : R := (1 - q) / (1 + q) * q ^+ `|z|%N.

(* The probability of m or more *)
Definition at_least (m : int) : R :=
  match m with Posz k => q ^+ k / (1 + q) | Negz k => 1 - q ^+ k.+2 / (1 + q) end.

Let q1 : 0 < 1 + q. Proof. by rewrite addr_gt0// ltr01. Qed.
Let q1_neq0 : 1 + q != 0. Proof. by rewrite gt_eqF. Qed.

Lemma laplace_gt0 z : 0 < laplace z.
Proof. by rewrite mulr_gt0 ?exprn_gt0// divr_gt0// subr_gt0. Qed.

Lemma laplace_at_least m : laplace m = at_least m - at_least (m + 1).
Proof.
rewrite /laplace; case: m => [k|[|k]].
- have -> : Posz k + 1 = Posz k.+1 by rewrite -addn1 PoszD.
  by rewrite /= exprS; field.
- by rewrite /= expr0 !exprS expr0; field.
- have -> : Negz k.+1 + 1 = Negz k by rewrite !NegzE -addn1 PoszD opprD addrNK.
  by rewrite /= !exprS; field.
Qed.

Lemma sum_laplace m n : \sum_(i < n) laplace (m + i%:Z) = at_least m - at_least (m + n%:Z).
Proof.
elim: n => [|n IH]; first by rewrite big_ord0 addr0 subrr.
rewrite big_ord_recr/= IH laplace_at_least -addrA.
have -> : m + n%:Z + 1 = m + n.+1%:Z by rewrite -addrA -addn1 PoszD.
by rewrite addKr.
Qed.

Lemma shifted_ge0 (m : int) (n : nat) : 0 <= m + (n + `|m|%N)%N%:Z.
Proof. by rewrite PoszD addrCA addr_ge0// abszE -ler_subl_addl sub0r -normrN ler_norm. Qed.

Lemma limit_at_least m : ((fun n => at_least (m + n%:Z)) --> (0 : R))%classic.
Proof.
pose N := `|m|%N.
apply: (@limit_eventually _ N _ (fun n => q ^+ absz (m + n%:Z) / (1 + q))) => [n|].
  have : 0 <= m + (n + N)%N%:Z by rewrite shifted_ge0.
  by case: (m + _).
have b : 0 <= q < 1 by rewrite ltW.
rewrite -[X in (_ --> X)%classic](mul0r (1 + q)^-1).
apply: limit_mul; last exact: limit_constant.
rewrite -(cvg_shiftn N).
apply: (@squeeze_cvgr _ _ _ _ (fun=> 0) _ (fun n => q ^+ n)).
- near=> n; rewrite exprn_ge0 ?(ltW q_gt0)//= ler_wiexpn2l ?(ltW q_gt0) ?(ltW q_lt1)//.
  by rewrite -lez_nat abszE ler_normr PoszD addrCA ler_addl abszE -[`|m|]opprK subr_ge0 -ler_oppl -normrN ler_norm.
- exact: limit_constant.
- exact: limit_power.
Unshelve. all: by end_near.
Qed.

Theorem laplace_tail m : ((fun n => \sum_(i < n) laplace (m + i%:Z)) --> at_least m)%classic.
Proof.
apply: (@limit_eq _ _ (fun n => at_least m - at_least (m + n%:Z))) => [n|]; first exact: sum_laplace.
rewrite -[X in (_ --> X)%classic]subr0; apply: limit_sub; first exact: limit_constant.
exact: limit_at_least.
Qed.

Theorem laplace_sums_to_one : ((fun n => \sum_(i < n + n) laplace (- n%:Z + i%:Z)) --> (1 : R))%classic.
Proof.
apply: (@limit_eq _ _ (fun n => at_least (- n%:Z) - at_least (0 + n%:Z))) => [n|].
  by rewrite sum_laplace PoszD addKr add0r.
rewrite -[X in (_ --> X)%classic]subr0; apply: limit_sub; last exact: limit_at_least.
apply: (@limit_eventually _ 1%N _ (fun n => 1 - at_least (0 + (n + 1)%N%:Z))) => [n|].
  by rewrite !addn1 add0r -NegzE.
rewrite -[X in (_ --> X)%classic]subr0; apply: limit_sub; first exact: limit_constant.
by have := limit_at_least 0; rewrite -(cvg_shiftn 1).
Qed.

End Laplace.
