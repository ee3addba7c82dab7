(* Limits of sequences of real numbers, in the form in which other files use them.

   Sums, products and finite sums of limits are limits; a sequence that does not change after some index has that value as
   limit; u(n)^n tends to 0 where u(n) >= 0 tends to a number below 1. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope classical_set_scope.
Local Open Scope ring_scope.

Section Limits.
Variable R : realType.
Implicit Types (u v : nat -> R) (a b : R).

Lemma limit_constant a : (fun _ : nat => a) --> a.
Proof. exact: cvg_cst. Qed.

Lemma limit_add u v a b : u --> a -> v --> b -> (fun n => u n + v n) --> a + b.
Proof. by move=> ua vb; exact: (cvgD ua vb). Qed.

Lemma limit_opp u a : u --> a -> (fun n => - u n) --> - a.
Proof. by move=> ua; exact: (cvgN ua). Qed.

Lemma limit_sub u v a b : u --> a -> v --> b -> (fun n => u n - v n) --> a - b.
Proof. by move=> ua vb; exact: (limit_add ua (limit_opp vb)). Qed.

Lemma limit_mul u v a b : u --> a -> v --> b -> (fun n => u n * v n) --> a * b.
Proof. by move=> ua vb; exact: (cvgM ua vb). Qed.

Lemma limit_inv u a : a != 0 -> u --> a -> (fun n => (u n)^-1) --> a^-1.
Proof. by move=> a0 ua; exact: (cvgV a0 ua). Qed.

Lemma limit_sum (I : Type) (s : seq I) (u : I -> nat -> R) (l : I -> R) :
  (forall i, u i --> l i) -> (fun n => \sum_(i <- s) u i n) --> \sum_(i <- s) l i.
Proof.
move=> h; elim: s => [|i s IH].
  by rewrite big_nil; under eq_fun do rewrite big_nil; exact: limit_constant.
by rewrite big_cons; under eq_fun do rewrite big_cons; exact: limit_add.
Qed.

Lemma limit_eq u v a : (forall n, u n = v n) -> v --> a -> u --> a.
Proof. by move=> /funext ->. Qed.

Lemma limit_eventually N u v a : (forall n, u (n + N)%N = v (n + N)%N) -> v --> a -> u --> a.
Proof.
move=> uv va; rewrite -(cvg_shiftn N); rewrite -(cvg_shiftn N) in va.
exact: limit_eq va.
Qed.

Lemma limit_power a : 0 <= a < 1 -> (fun n => a ^+ n) --> (0 : R).
Proof.
case/andP=> a0 a1; have := cvg_geometric (1 : R) (z := a); rewrite ger0_norm// => /(_ a1).
by apply: limit_eq => n; rewrite /geometric /= mul1r.
Qed.

Lemma limit_self_power u a : (forall n, 0 <= u n) -> a < 1 -> u --> a -> (fun n => u n ^+ n) --> (0 : R).
Proof.
move=> u0 a1 ua; pose m := (a + 1) / 2.
have am : a < m by rewrite /m midf_lt.
have m1 : m < 1 by rewrite /m midf_lt.
have near_m : \forall n \near \oo, u n < m by exact: (cvgr_lt a).
have [n nm] := @filter_ex _ _ _ _ near_m.
have m0 : 0 <= m by rewrite ltW// (le_lt_trans (u0 n)).
apply: (@squeeze_cvgr _ _ _ _ (fun=> 0) _ (fun n => m ^+ n)).
- near=> k; rewrite exprn_ge0//= ler_expn2r ?nnegrE//.
  by rewrite ltW//; near: k.
- exact: limit_constant.
- by apply: limit_power; rewrite m0.
Unshelve. all: by end_near.
Qed.

Lemma limit_geometric_sum u a : (forall n, 0 <= u n) -> a < 1 -> u --> a ->
  (fun n => \sum_(j < n) u n ^+ j) --> (1 - a)^-1.
Proof.
move=> u0 a1 ua.
have d0 : 1 - a != 0 by rewrite subr_eq0 gt_eqF.
have near_1 : \forall n \near \oo, u n < 1 by exact: (cvgr_lt a).
case: near_1 => N _ HN.
apply: (@limit_eventually N _ (fun n => (1 - u n ^+ n) * (1 - u n)^-1)) => [n|].
  have un : u (n + N)%N != 1 by rewrite lt_eqF// HN//= leq_addl.
  rewrite -[1 - u _ ^+ _]opprB subrX1 mulrC -mulNr opprB mulKf// subr_eq0 eq_sym//.
rewrite -[X in _ --> X]mul1r; apply: limit_mul; last first.
  by apply: limit_inv => //; apply: limit_sub => //; exact: limit_constant.
rewrite -[X in _ --> X]subr0; apply: limit_sub; [exact: limit_constant|exact: limit_self_power ua].
Qed.

End Limits.

Lemma sum_blocks (V : zmodType) (F : nat -> V) (a b : nat) :
  \sum_(x < a * b) F x = \sum_(j < b) \sum_(i < a) F (i + a * j)%N.
Proof.
elim: b => [|b IH]; first by rewrite muln0 !big_ord0.
rewrite big_ord_recr/= mulnS addnC big_split_ord/= -IH; congr (_ + _).
by apply: eq_bigr => i _; rewrite addnC.
Qed.

Lemma sum_blocks_nat (F : nat -> nat) (a b : nat) :
  (\sum_(x < a * b) F x = \sum_(j < b) \sum_(i < a) F (i + a * j))%N.
Proof.
elim: b => [|b IH]; first by rewrite muln0 !big_ord0.
rewrite big_ord_recr/= mulnS addnC big_split_ord/= -IH; congr (_ + _)%N.
by apply: eq_bigr => i _; rewrite addnC.
Qed.
