(* The swap metric (docs/theory/certificates.md, Theorems 2.1 and 2.2).

   Words of n symbols; c i a a' is what it costs to release a' for a at position i, a whole number or None for infinity. c is
   a metric at every position. A mechanism releases o with probability s(o) exp(-eta D(w,o)) / Z(w), D the sum of the costs, s
   a public prior; exp of minus infinity is 0. Symbols are related at a position if adjacent words may have them there; related symbols
   cost at most 1. Hop distances of a relation are such metrics, with any cap; so is the Hamming distance.

   swap_metric_distance: for related words D(w,v) is finite and at most the number of positions in which they differ.
   swap_metric_support: their laws have the same support.
   swap_metric_loss: the loss of w and v is exactly eta D(w,v) + ln (Z(v)/Z(w)), and at most 2 eta b if they differ in at most b
     positions. The pair in the other order gives -ln (Z(v)/Z(w)) in its place, so the pair loses eta D + |ln (Z(v)/Z(w))|. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring.
From symveil Require Import loss finite_laws hamming_words.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* x <= y + z, where None is infinity *)
Definition at_most_sum (x y z : option nat) : bool :=
  match y, z with Some b, Some c => if x is Some a then (a <= b + c)%N else false | _, _ => true end.

Section SwapMetric.
Variables (R : realType) (A : finType) (n : nat) (c : 'I_n -> A -> A -> option nat) (s : {ffun 'I_n -> A} -> R) (eta : R).
Notation word := {ffun 'I_n -> A}.
Hypothesis c_own : forall i a, c i a a = Some 0%N.
Hypothesis c_sym : forall i a a', c i a a' = c i a' a.
Hypothesis c_triangle : forall i a a' a'', at_most_sum (c i a a'') (c i a a') (c i a' a'').
Hypothesis eta_ge0 : 0 <= eta.
Hypothesis s_ge0 : forall o, 0 <= s o.

Definition related (w v : word) := forall i, w i != v i -> c i (w i) (v i) = Some 1%N.

(* exp(-eta cost) *)
Definition weight_of (x : option nat) : R := if x is Some a then expR (- (eta * a%:R)) else 0.
Definition weight (w o : word) : R := \prod_i weight_of (c i (w i) (o i)).
Definition distance (w v : word) : nat := (\sum_i odflt 0%N (c i (w i) (v i)))%N.

Lemma weight_of_ge0 x : 0 <= weight_of x.
Proof. by case: x => [a|] /=; rewrite ?lexx// ltW// expR_gt0. Qed.

Lemma weight_ge0 w o : 0 <= weight w o.
Proof. by apply: prodr_ge0 => i _; exact: weight_of_ge0. Qed.

Lemma weight_of_triangle x y z : at_most_sum x y z -> weight_of y * weight_of z <= weight_of x.
Proof.
case: y => [b|_]; last by rewrite mul0r weight_of_ge0.
case: z => [a|_]; last by rewrite mulr0 weight_of_ge0.
case: x => //= d h; rewrite -expRD ler_expR -opprD ler_opp2 -mulrDr -natrD.
by rewrite ler_wpmul2l// ler_nat.
Qed.

Lemma weight_triangle w v o : weight w v * weight v o <= weight w o.
Proof.
rewrite -big_split /=; apply: ler_prod => i _.
by rewrite mulr_ge0 ?weight_of_ge0//= weight_of_triangle.
Qed.

Lemma weight_sym w v : weight w v = weight v w.
Proof. by apply: eq_bigr => i _; rewrite c_sym. Qed.

Lemma weight_own w : weight w w = 1.
Proof. by apply: big1 => i _; rewrite c_own /= mulr0 oppr0 expR0. Qed.

Theorem swap_metric_distance w v : related w v ->
  (forall i, c i (w i) (v i) <> None) /\ (distance w v <= dist w v)%N.
Proof.
move=> r; split=> [i|].
  by have [->|/r->] := eqVneq (w i) (v i); rewrite ?c_own.
rewrite /dist -sum1_card big_mkcond /=; apply: leq_sum => i _; rewrite inE.
by have [->|wv] /= := eqVneq (w i) (v i); rewrite ?c_own ?r.
Qed.

Lemma weight_related w v : related w v -> weight w v = expR (- (eta * (distance w v)%:R)).
Proof.
move=> r; have e i : weight_of (c i (w i) (v i)) = expR (- (eta * (odflt 0%N (c i (w i) (v i)))%:R)).
  by have [->|/r->] := eqVneq (w i) (v i); rewrite ?c_own.
rewrite /weight /distance (eq_bigr _ (fun i _ => e i)) natr_sum mulr_sumr -sumrN.
by elim/big_rec2: _ => [|i x y _ ->]; rewrite ?expR0// expRD.
Qed.

Theorem swap_metric_support w v o : related w v -> (0 < weight w o) = (0 < weight v o).
Proof.
move=> r; have p : 0 < weight w v by rewrite weight_related// expR_gt0.
apply/idP/idP => h.
  by apply: lt_le_trans (weight_triangle v w o); rewrite mulr_gt0// weight_sym.
by apply: lt_le_trans (weight_triangle w v o); rewrite mulr_gt0.
Qed.

Lemma weight_ratio_related w v o : related w v -> weight w o <= expR (eta * (distance w v)%:R) * weight v o.
Proof.
move=> r; have := weight_triangle v w o; rewrite weight_sym weight_related// expRN.
by rewrite mulrC ler_pdivr_mulr ?expR_gt0// mulrC.
Qed.

Lemma related_sym w v : related w v -> related v w.
Proof. by move=> r i; rewrite eq_sym c_sym; exact: r. Qed.

Lemma distance_sym w v : distance w v = distance v w.
Proof. by apply: eq_bigr => i _; rewrite c_sym. Qed.

Theorem swap_metric_loss (b : nat) w v : related w v -> 0 < s w -> 0 < s v ->
  let loss := eta * (distance w v)%:R + ln (normaliser s weight v / normaliser s weight w) in
  loses_exactly loss (law s weight w) (law s weight v) /\
  ((dist w v <= b)%N -> loss <= 2 * eta * b%:R).
Proof.
move=> r sw sv loss.
have z0 u : 0 < s u -> 0 < normaliser s weight u.
  move=> su; rewrite /normaliser (bigD1 u)//= ltr_spaddl ?weight_own ?mulr1//.
  by apply: sumr_ge0 => o _; rewrite mulr_ge0// weight_ge0.
have [zw zv] := (z0 w sw, z0 v sv).
split.
  split; first by apply: law_by_weights_loss => // o; exact: weight_ratio_related.
  exists w; first by rewrite divr_gt0// mulr_gt0// -(swap_metric_support w r) weight_own ltr01.
  rewrite law_ratio// [weight v w]weight_sym weight_related// -expRD subrr expR0.
  by rewrite /law weight_own.
move=> wv; have [_ dle] := swap_metric_distance r.
have D_le : eta * (distance w v)%:R <= eta * b%:R by rewrite ler_wpmul2l// ler_nat (leq_trans dle).
have ln_le : ln (normaliser s weight v / normaliser s weight w) <= eta * (distance w v)%:R.
  rewrite -[leRHS]expK ler_ln ?posrE ?divr_gt0 ?expR_gt0// ler_pdivr_mulr// mulr_sumr.
  apply: ler_sum => o _; rewrite mulrCA ler_wpmul2l// distance_sym.
  exact: weight_ratio_related (related_sym r).
have -> : 2 * eta * b%:R = eta * b%:R + eta * b%:R by ring.
by apply: ler_add => //; exact: le_trans ln_le D_le.
Qed.

End SwapMetric.

(* The Hamming distance is such a metric *)
Example hamming_costs (A : finType) (n : nat) :
  let c (i : 'I_n) (a a' : A) := Some (a != a' : nat) in
  [/\ forall i a, c i a a = Some 0%N, forall i a a', c i a a' = c i a' a,
      forall i a a' a'', at_most_sum (c i a a'') (c i a a') (c i a' a'') & forall w v, related c w v].
Proof.
split=> [i a|i a a'|i a a' a''|w v i] /=; rewrite ?eqxx//; first by rewrite eq_sym.
  by case: (a =P a') => [->|_] //=; case: (a == a'').
by move=> ->.
Qed.
