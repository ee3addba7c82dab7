(* Uniform whole numbers from bits: uniform_integer in src/symveil/randomness/choices.py (docs/theory/central.md, "Exact
   noise").

   The function draws `width` fair bits, a whole number below 2^width >= bound, and draws again until the number is below
   the bound. Here `rounds` is how often it may draw.

   uniform_integer_law: the probability of each number below the bound tends to 1/bound; after finitely many rounds it is
     the same for all, and never more than 1/bound.
   Its sum over the numbers below the bound therefore tends to 1: the loop ends with probability 1. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences.
From mathcomp Require Import ring.
From symveil Require Import limits draws.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section UniformInteger.
Variables (R : realType) (bound width : nat).
Hypotheses (bound_gt0 : (0 < bound)%N) (wide : (bound <= 2 ^ width)%N).

Fixpoint uniform_integer (rounds : nat) : draw nat :=
  if rounds is r.+1
  then Uniform (2 ^ width) (fun drawn => if (drawn < bound)%N then Return drawn else uniform_integer r)
  else Pending.

Let total : R := (2 ^ width)%:R.
Let miss : R := 1 - bound%:R / total.

Lemma total_gt0 : 0 < total. Proof. by rewrite ltr0n expn_gt0. Qed.

Lemma miss_bounds : 0 <= miss < 1.
Proof.
rewrite subr_ge0 ler_pdivr_mulr ?total_gt0// mul1r ler_nat wide /=.
by rewrite ltr_subl_addr ltr_addl divr_gt0 ?total_gt0// ltr0n.
Qed.

Lemma uniform_integer_mean (rounds : nat) (g : nat -> R) :
  mean (uniform_integer rounds) g = (\sum_(i < bound) g i) / bound%:R * (1 - miss ^+ rounds).
Proof.
pose S := \sum_(i < bound) g i; rewrite -/S.
elim: rounds => [|r IH] /=; first by rewrite expr0 subrr mulr0.
rewrite (eq_bigr (fun i : 'I__ => if (i < bound)%N then g i else mean (uniform_integer r) g)); last first.
  by move=> i _; case: ifP.
rewrite (bigID (fun i : 'I__ => (i < bound)%N))/=.
rewrite [X in X + _](eq_bigr (fun i : 'I__ => g i)); last by move=> i ->.
rewrite [X in _ + X](eq_bigr (fun=> mean (uniform_integer r) g)); last by move=> i /negbTE->.
have -> : \sum_(i < 2 ^ width | (i < bound)%N) g i = S by rewrite /S (big_ord_widen _ g wide).
rewrite sumr_const.
have -> : #|[pred i : 'I_(2 ^ width) | ~~ (i < bound)%N]| = (2 ^ width - bound)%N.
  apply/eqP; rewrite -(eqn_add2l bound) subnKC//; apply/eqP.
  rewrite -[RHS](card_ord (2 ^ width)) -(cardC [pred i : 'I_(2 ^ width) | (i < bound)%N]); congr (_ + _)%N.
  by rewrite -sum1_card -(big_ord_widen _ (fun=> 1%N) wide) sum1_card card_ord.
have b0 : bound%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
rewrite -[X in _ + X]mulr_natr natrB// IH exprS -/total /miss; field.
by rewrite b0 gt_eqF// total_gt0.
Qed.

Lemma uniform_integer_chance (rounds i : nat) : (i < bound)%N ->
  chance R (uniform_integer rounds) (pred1 i) = bound%:R^-1 * (1 - miss ^+ rounds).
Proof.
move=> ib; rewrite /chance uniform_integer_mean; congr (_ * _).
rewrite (bigD1 (Ordinal ib))//= eqxx big1 ?addr0 ?div1r// => j ji.
by case: eqP => // ij; case/negP: ji; apply/eqP/val_inj.
Qed.

Theorem uniform_integer_law (i : nat) : (i < bound)%N ->
  (forall rounds, chance R (uniform_integer rounds) (pred1 i) <= bound%:R^-1) /\
  ((fun rounds => chance R (uniform_integer rounds) (pred1 i)) --> (bound%:R^-1 : R))%classic.
Proof.
move=> ib; have /andP[m0 m1] := miss_bounds.
split=> [rounds|].
  by rewrite uniform_integer_chance// ler_pimulr ?invr_ge0 ?ler0n// ger_addl oppr_le0 exprn_ge0.
apply: (@limit_eq _ _ (fun rounds => bound%:R^-1 * (1 - miss ^+ rounds))) => [rounds|].
  exact: uniform_integer_chance.
suff: ((fun rounds => bound%:R^-1 * (1 - miss ^+ rounds)) --> bound%:R^-1 * (1 - 0))%classic by rewrite subr0 mulr1.
apply: limit_mul; [exact: limit_constant|apply: limit_sub; [exact: limit_constant|]].
by apply: limit_power; rewrite m0.
Qed.

End UniformInteger.
