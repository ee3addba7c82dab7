(* The distance ld of a labelled chain (docs/theory/chains-and-opacity.md, "Labelled chains" and "ld = lgd").

   Chains, labels and the ratio alpha = exp(epsilon) are those of labelled_chains.v. gamma d (s,s') is the largest
   sum (mu s i - ratio mu s' i) f i over f in [0,1] with f i - ratio f j <= d(i,j), where the labels of s and s' agree, and 1 elsewhere. ld is the
   smallest number, in each pair, that a distance d >= 0 with gamma d <= d has there.

   ld_is_least_fixed: gamma ld = ld, and ld is below every d >= 0 with gamma d <= d, so below every fixed point.
   ld_bounds_delta: ld(s,s') bounds P_s(E) - ratio P_s'(E) for every event E about finitely many labels (C19, Theorem 17).
   one_fixed_point: with the kernel (where ld is 0) held at 0, gamma has exactly one fixed point d >= 0, and it is ld. So lgd, the
     greatest one, is ld.

   gamma is monotone and concave (gamma_monotone, gamma_concave), which is what ld_is_lgd in labelled_chains.v asks for. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals.
From mathcomp Require Import ring.
From symveil Require Import labelled_chains.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope classical_set_scope.
Local Open Scope ring_scope.

Section LeastDistance.
Variables (R : realType) (S B : finType) (label : S -> B) (mu : S -> S -> R) (ratio : R).
Hypothesis mu_ge0 : forall s i, 0 <= mu s i.
Hypothesis mu_sum1 : forall s, \sum_i mu s i = 1.
Hypothesis ratio_ge1 : 1 <= ratio.
Implicit Types (x y d : S * S -> R) (p : S * S) (f : S -> R).

Definition advantage p f : R := \sum_i (mu p.1 i - ratio * mu p.2 i) * f i.
Definition allowed d : set (S -> R) := [set f | feasible ratio (fun i j => d (i, j)) f].
Definition gamma d p : R := if label p.1 == label p.2 then sup (advantage p @` allowed d) else 1.

Let ratio_ge0 : 0 <= ratio. Proof. exact: le_trans ler01 ratio_ge1. Qed.

Lemma advantage_le1 p f : (forall i, 0 <= f i <= 1) -> advantage p f <= 1.
Proof.
move=> f01; rewrite -(mu_sum1 p.1); apply: ler_sum => i _; have /andP[f0 f1] := f01 i.
apply: (@le_trans _ _ (mu p.1 i * f i)); last by rewrite ler_pimulr.
by rewrite ler_wpmul2r// ler_subl_addr ler_addl mulr_ge0.
Qed.

Lemma advantage_bounded d p : has_ubound (advantage p @` allowed d).
Proof. by exists 1 => _ [f [f01 _] <-]; exact: advantage_le1. Qed.

Lemma allowed_zero d : (forall p, 0 <= d p) -> allowed d (fun=> 0).
Proof. by move=> d0; split=> [i|i j]; rewrite ?lexx ?ler01// mulr0 subrr. Qed.

Lemma advantage_zero p : advantage p (fun=> 0) = 0.
Proof. by apply: big1 => i _; rewrite mulr0. Qed.

Lemma some_advantage d p : (forall p, 0 <= d p) -> (advantage p @` allowed d) !=set0.
Proof. by move=> d0; exists (advantage p (fun=> 0)), (fun=> 0) => //; exact: allowed_zero. Qed.

Lemma gamma_upper d p f : label p.1 = label p.2 -> allowed d f -> advantage p f <= gamma d p.
Proof. by move=> l fd; rewrite /gamma l eqxx; apply: (sup_ub (advantage_bounded d p)); exists f. Qed.

Lemma gamma_least d p c : (forall p, 0 <= d p) -> label p.1 = label p.2 ->
  (forall f, allowed d f -> advantage p f <= c) -> gamma d p <= c.
Proof.
by move=> d0 l h; rewrite /gamma l eqxx; apply: sup_le_ub => [|_ [f fd <-]]; [exact: some_advantage|exact: h].
Qed.

Lemma gamma_at_mostP d p c : (forall p, 0 <= d p) ->
  gamma_at_most label mu ratio (fun i j => d (i, j)) p.1 p.2 c <-> gamma d p <= c.
Proof.
move=> d0; rewrite /gamma_at_most; case: eqP => l; last by rewrite /gamma; move/eqP/negbTE: l => ->.
split=> [h|h f fd]; first exact: gamma_least.
exact: le_trans (gamma_upper l fd) h.
Qed.

Lemma gamma_ge0 d p : (forall p, 0 <= d p) -> 0 <= gamma d p.
Proof.
move=> d0; have [l|l] := eqVneq (label p.1) (label p.2); last by rewrite /gamma (negbTE l) ler01.
by rewrite -(advantage_zero p); apply: gamma_upper => //; exact: allowed_zero.
Qed.

Lemma gamma_le1 d p : (forall p, 0 <= d p) -> gamma d p <= 1.
Proof.
move=> d0; have [l|l] := eqVneq (label p.1) (label p.2); last by rewrite /gamma (negbTE l) lexx.
by apply: gamma_least => // f [f01 _]; exact: advantage_le1.
Qed.

Lemma gamma_monotone x y : (forall p, 0 <= x p) -> (forall p, x p <= y p) -> forall p, gamma x p <= gamma y p.
Proof.
move=> x0 xy p; have [l|l] := eqVneq (label p.1) (label p.2); last by rewrite /gamma (negbTE l) lexx.
apply: gamma_least => // f [f01 fx]; apply: gamma_upper => //; split=> // i j.
exact: le_trans (fx i j) (xy _).
Qed.

(* A bound on all t a is one on t times their least upper bound *)
Lemma scaled_gamma t d p c : 0 <= t -> (forall p, 0 <= d p) -> label p.1 = label p.2 ->
  (forall f, allowed d f -> t * advantage p f <= c) -> t * gamma d p <= c.
Proof.
rewrite le_eqVlt => /predU1P[<- d0 _ h|t0 d0 l h].
  by rewrite mul0r -(mul0r (advantage p (fun=> 0))); apply: h; exact: allowed_zero.
rewrite mulrC -ler_pdivl_mulr//; apply: gamma_least => // f fd.
by rewrite ler_pdivl_mulr// mulrC; exact: h.
Qed.

Lemma gamma_concave t x y : 0 <= t <= 1 -> (forall p, 0 <= x p) -> (forall p, 0 <= y p) ->
  forall p, t * gamma x p + (1 - t) * gamma y p <= gamma (fun p => t * x p + (1 - t) * y p) p.
Proof.
move=> /andP[t0 t1] x0 y0 p; have t1' : 0 <= 1 - t by rewrite subr_ge0.
have [l|l] := eqVneq (label p.1) (label p.2); last by rewrite /gamma (negbTE l) !mulr1 addrC subrK.
rewrite -ler_subr_addr; apply: scaled_gamma => // f [f01 fx].
rewrite ler_subr_addr addrC -ler_subr_addr; apply: scaled_gamma => // g [g01 gy].
rewrite ler_subr_addr addrC.
have -> : t * advantage p f + (1 - t) * advantage p g = advantage p (fun i => t * f i + (1 - t) * g i).
  by rewrite /advantage !mulr_sumr -big_split; apply: eq_bigr => i _ /=; ring.
apply: gamma_upper => //; split=> [i|i j].
  have /andP[f0 f1] := f01 i; have /andP[g0 g1] := g01 i; rewrite addr_ge0 ?mulr_ge0//=.
  apply: (@le_trans _ _ (t * 1 + (1 - t) * 1)); last by rewrite !mulr1 addrC subrK.
  by apply: ler_add; apply: ler_wpmul2l.
have -> : t * f i + (1 - t) * g i - ratio * (t * f j + (1 - t) * g j)
    = t * (f i - ratio * f j) + (1 - t) * (g i - ratio * g j) by ring.
by apply: ler_add; apply: ler_wpmul2l => //.
Qed.

Definition above_gamma d := (forall p, 0 <= d p) /\ forall p, gamma d p <= d p.
Definition ld p : R := inf [set d p | d in above_gamma].

Let one_above : above_gamma (fun=> 1).
Proof. by split=> p; [exact: ler01|apply: gamma_le1 => ?; exact: ler01]. Qed.

Let some_above p : [set d p | d in above_gamma] !=set0.
Proof. by exists 1, (fun=> 1). Qed.

Lemma ld_least d : above_gamma d -> forall p, ld p <= d p.
Proof. by move=> h p; apply: inf_lb; [exists 0 => _ [e [e0 _] <-]; exact: e0|exists d]. Qed.

Lemma ld_ge0 p : 0 <= ld p.
Proof. by apply: lb_le_inf => // _ [e [e0 _] <-]; exact: e0. Qed.

Lemma ld_above : above_gamma ld.
Proof.
split=> [|p]; first exact: ld_ge0.
apply: lb_le_inf => // _ [d h <-]; apply: le_trans (h.2 p).
by apply: gamma_monotone => [|p']; [exact: ld_ge0|exact: ld_least].
Qed.

Theorem ld_is_least_fixed : (forall p, gamma ld p = ld p) /\ forall d, above_gamma d -> forall p, ld p <= d p.
Proof.
split=> [p|]; last exact: ld_least.
apply/eqP; rewrite eq_le ld_above.2 ld_least//; split=> p'; first exact: gamma_ge0 ld_ge0.
by apply: gamma_monotone => [p''|]; [exact: gamma_ge0 ld_ge0|exact: ld_above.2].
Qed.

Theorem ld_bounds_delta T s s' E : (0 < T)%N -> seen label mu T s E - ratio * seen label mu T s' E <= ld (s, s').
Proof.
move=> T0; apply: (certificate_bounds_delta mu_ge0 mu_sum1 ratio_ge1 (d := fun i j => ld (i, j))) => //.
split=> [i j|i j]; first exact: ld_ge0.
by apply: (gamma_at_mostP (i, j) _ ld_ge0).2; exact: ld_above.2.
Qed.

Theorem one_fixed_point d : (forall p, 0 <= d p) ->
  (forall p, held gamma ld d p = d p) <-> (forall p, d p = ld p).
Proof.
have [fixed least] := ld_is_least_fixed; move=> d0; split=> [hd p|dE p]; last first.
  rewrite /held dE; case: eqP => [->//|_]; rewrite -[RHS]fixed; congr gamma; exact/funext.
have below : forall p, d p <= ld p.
  apply: ld_is_lgd hd => // [x y|t x y||x x0 xx]; [exact: gamma_monotone|exact: gamma_concave|exact: ld_ge0|exact: least (conj x0 xx)].
apply/eqP; rewrite eq_le below least//; split=> // p'.
have [k|k] := eqVneq (ld p') 0; last by rewrite -[leRHS]hd /held (negbTE k).
by apply: le_trans (d0 p'); rewrite -k -[leRHS]fixed; exact: gamma_monotone.
Qed.
End LeastDistance.
