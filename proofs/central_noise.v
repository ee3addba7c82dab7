(* A table with discrete Laplace noise (docs/theory/central.md, Theorem 5.2).

   Each cell x of a table releases c(x) + Z(x), the Z(x) independent with the discrete Laplace law of scale b = A / epsilon: the answer y
   has the probability prod_x laplace q (y(x) - c(x)), q = exp(-epsilon/A).

   central_noise: if two tables differ by at most A in L1, they lose at most epsilon. With A = L M that is what person_bound.v gives
   for two files that differ by all records of one person; where another person takes the first one's place A is 2 L M.
   laplace_ratio: a shift of one number by d changes its probability by a factor of at most q^-|d|. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring zify.
From symveil Require Import loss laplace.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section CentralNoise.
Variables (R : realType) (C : finType) (epsilon : R) (A : nat).
Hypotheses (epsilon_gt0 : 0 < epsilon) (A_gt0 : (0 < A)%N).
Let q : R := expR (- (epsilon / A%:R)).

Lemma q_bounds : 0 < q < 1.
Proof. by rewrite expR_gt0 expR_lt1 oppr_lt0 divr_gt0// ltr0n. Qed.

Lemma laplace_ratio (c c' y : int) : laplace q (y - c) <= q^-1 ^+ `|c - c'|%N * laplace q (y - c').
Proof.
have /andP[q0 q1] := q_bounds.
rewrite /laplace mulrCA ler_wpmul2l//.
  by rewrite divr_ge0 ?subr_ge0 ?(ltW q1)// addr_ge0 ?ler01 ?ltW.
rewrite exprVn mulrC ler_pdivl_mulr ?exprn_gt0// -exprD.
by rewrite ler_wiexpn2l ?(ltW q0) ?(ltW q1)//; lia.
Qed.

Definition noisy (c : C -> int) (y : C -> int) : R := \prod_x laplace q (y x - c x).

Theorem central_noise (c c' : C -> int) :
  (\sum_x `|c x - c' x| <= A)%N -> loses_at_most epsilon (noisy c) (noisy c').
Proof.
move=> h y; have /andP[q0 q1] := q_bounds.
have lap0 z : 0 <= laplace q z by rewrite ltW// laplace_gt0.
apply: (@le_trans _ _ (\prod_x (q^-1 ^+ `|c x - c' x|%N * laplace q (y x - c' x)))).
  by apply: ler_prod => x _; rewrite lap0 laplace_ratio.
rewrite big_split /= ler_wpmul2r//; first by apply: prodr_ge0.
rewrite -expr_sum exprVn -exprVn -expRN opprK -expRMm ler_expR mulrCA -[leRHS]mulr1 ler_wpmul2l ?(ltW epsilon_gt0)//.
by rewrite ler_pdivr_mulr ?ltr0n// mul1r ler_nat.
Qed.

End CentralNoise.
