(* What one person adds to a private table (docs/theory/central.md, Theorem 5.1): PersonCounts.weights in
   src/symveil/central/cells.py.

   A person with k counted things adds the whole number weight M L k = M if k <= L, else floor(L M / k), to the cell of
   each: that is floor(M min(1, L/k)) (weight_floor).

   person_bound: all that the person adds is together at most L M, whatever the cells are.
   table_l1: so two tables, with and without the person, differ by at most L M in L1. *)

From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.

(* np.where(counts <= bound, GRID, bound * GRID // np.maximum(counts, 1)) *)
Definition weight (M L k : nat) : nat := if k <= L then M else (L * M) %/ maxn k 1.

Lemma weight_floor (R : realFieldType) (M L k : nat) : 0 < k ->
  let exact := (M%:R * Num.min 1 (L%:R / k%:R) : R)%R in
  ((weight M L k)%:R <= exact < (weight M L k).+1%:R)%R.
Proof.
move=> k0 /=; rewrite /weight.
have k0' : (0 < k%:R :> R)%R by rewrite ltr0n.
case: (leqP k L) => kL.
  by rewrite min_l ?ler_pdivl_mulr ?mul1r ?ler_nat// mulr1 lexx ltr_nat ltnSn.
rewrite min_r ?ler_pdivr_mulr ?mul1r ?ler_nat 1?ltnW//.
rewrite (maxn_idPl k0) mulrA ler_pdivl_mulr// ltr_pdivr_mulr// -!natrM ler_nat ltr_nat (mulnC M).
by rewrite leq_trunc_div ltn_ceil.
Qed.

Theorem person_bound (M L k : nat) : k * weight M L k <= L * M.
Proof.
rewrite /weight; case: (leqP k L) => kL; first by rewrite leq_mul2r kL orbT.
have k0 : 0 < k by apply: leq_ltn_trans kL.
by rewrite (maxn_idPl k0) mulnC leq_trunc_div.
Qed.

Section Tables.
Variables (C : finType) (M L : nat).

(* The cells of everything that the person has, and what the person adds to each cell *)
Definition added (things : seq C) (c : C) : nat := count_mem c things * weight M L (size things).

Theorem table_l1 (others : C -> nat) (things : seq C) :
  \sum_c `|((others c + added things c)%:Z - (others c)%:Z)%R|%N <= L * M.
Proof.
have -> : \sum_c `|((others c + added things c)%:Z - (others c)%:Z)%R|%N = \sum_c added things c.
  by apply: eq_bigr => c _; rewrite PoszD addrAC subrr add0r.
rewrite -big_distrl /=.
have -> : \sum_c count_mem c things = size things.
  elim: things => [|x s IH]; first by rewrite big1.
  rewrite /= big_split /= IH (bigD1 x)//= eqxx big1 => [|c]; first by rewrite addn0.
  by rewrite eq_sym => /negbTE->.
exact: person_bound.
Qed.
End Tables.

Example weights_attain : 2 * weight 8 2 2 = 2 * 8 /\ 4 * weight 8 2 4 = 2 * 8.
Proof. by []. Qed.
