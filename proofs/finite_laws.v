(* Laws by weights (docs/theory/certificates.md, "One shape").

   A mechanism with finitely many outputs releases o with probability P(o|w) = s(o) k(w,o) / Z(w), Z(w) the sum of
   s(o) k(w,o); s >= 0 is a public prior, k >= 0 the weight.

   law_by_weights_loss: if k(w,o) <= exp(a) k(v,o) for all o, then w and v lose at most a + ln (Z(v)/Z(w)).
   law_by_weights_exact: with positive weights the loss is exactly the largest ln (k(w,o)/k(v,o)) plus ln (Z(v)/Z(w)).
   classic_factor_two: for k(w,o) = exp(-eta D(w,o)), where D(w,o) and D(v,o) differ by at most b, the loss is at most
   2 eta b: eta = epsilon / 2b is epsilon-private, for every D, every prior and every set of outputs.

   Words are any type; no adjacency is needed: the theorems are about one pair of words. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring.
From symveil Require Import loss.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section LawByWeights.
Variables (R : realType) (W : Type) (O : finType).
Variables (s : O -> R) (k : W -> O -> R).

Definition normaliser (w : W) : R := \sum_o s o * k w o.
Definition law (w : W) (o : O) : R := s o * k w o / normaliser w.

Hypothesis s_ge0 : forall o, 0 <= s o.
Hypothesis k_ge0 : forall w o, 0 <= k w o.

Lemma normaliser_ge0 w : 0 <= normaliser w.
Proof. by apply: sumr_ge0 => o _; rewrite mulr_ge0. Qed.

Lemma law_ge0 w o : 0 <= law w o.
Proof. by rewrite mulr_ge0 ?mulr_ge0// invr_ge0 normaliser_ge0. Qed.

Lemma law_sum1 w : 0 < normaliser w -> \sum_o law w o = 1.
Proof. by move=> z0; rewrite -mulr_suml divff// gt_eqF. Qed.

Lemma law_ratio (w v : W) (a : R) (o : O) :
  0 < normaliser w -> 0 < normaliser v ->
  expR (a + ln (normaliser v / normaliser w)) * law v o = s o * (expR a * k v o) / normaliser w.
Proof.
move=> zw zv; rewrite expRD lnK ?posrE ?divr_gt0// /law; field.
by rewrite !gt_eqF.
Qed.

Theorem law_by_weights_loss (w v : W) (a : R) :
  0 < normaliser w -> 0 < normaliser v ->
  (forall o, k w o <= expR a * k v o) ->
  loses_at_most (a + ln (normaliser v / normaliser w)) (law w) (law v).
Proof.
move=> zw zv h o; rewrite law_ratio// /law.
by rewrite ler_wpmul2r ?invr_ge0 ?(ltW zw)// ler_wpmul2l.
Qed.

Theorem law_by_weights_exact (w v : W) :
  (forall o, 0 < s o) -> (forall w o, 0 < k w o) -> (exists o : O, True) ->
  exists2 o, (forall o', ln (k w o' / k v o') <= ln (k w o / k v o)) &
    loses_exactly (ln (k w o / k v o) + ln (normaliser v / normaliser w)) (law w) (law v).
Proof.
move=> s0 k0 [o0 _].
have z0 u : 0 < normaliser u.
  rewrite /normaliser (bigD1 o0)//= ltr_spaddl ?mulr_gt0//.
  by apply: sumr_ge0 => o _; rewrite mulr_ge0.
pose f o := ln (k w o / k v o).
case: (@Order.TotalTheory.arg_maxP _ _ _ o0 xpredT f isT) => o _ omax.
have r0 o' : 0 < k w o' / k v o' by rewrite divr_gt0.
have kE o' : expR (f o') * k v o' = k w o' by rewrite /f lnK ?posrE// divfK ?gt_eqF.
exists o; first by move=> o'; exact: omax.
split.
  apply: law_by_weights_loss => // o'.
  by rewrite -[leLHS]kE ler_pmul2r// ler_expR; exact: omax.
exists o; first by rewrite /law divr_gt0 ?mulr_gt0.
by rewrite law_ratio// kE.
Qed.

End LawByWeights.

Section Classic.
Variables (R : realType) (W : Type) (O : finType) (s : O -> R) (D : W -> O -> R) (eta b : R).
Hypotheses (s_ge0 : forall o, 0 <= s o) (eta_ge0 : 0 <= eta).
Let k w o := expR (- (eta * D w o)).

Lemma weight_ratio (w v : W) (o : O) :
  `|D w o - D v o| <= b -> k w o <= expR (eta * b) * k v o.
Proof.
rewrite ler_norml => /andP[h1 h2].
rewrite -expRD ler_expR -mulrN -mulrN -mulrDr ler_wpmul2l//.
by rewrite ler_subr_addr addrC -opprB ler_oppl.
Qed.

Theorem classic_factor_two (w v : W) :
  0 < normaliser s k w -> 0 < normaliser s k v ->
  (forall o, `|D w o - D v o| <= b) ->
  loses_at_most (2 * eta * b) (law s k w) (law s k v).
Proof.
move=> zw zv h.
have zvw : normaliser s k v <= expR (eta * b) * normaliser s k w.
  rewrite mulr_sumr; apply: ler_sum => o _.
  by rewrite mulrCA ler_wpmul2l// weight_ratio// distrC.
have l0 : forall o, 0 <= law s k v o by apply: law_ge0 => // *; apply: ltW; apply: expR_gt0.
apply: loses_at_most_weaken l0 _ (law_by_weights_loss s_ge0 zw zv (fun o => weight_ratio (h o))).
have -> : 2 * eta * b = eta * b + eta * b by ring.
rewrite ler_add2l -[leRHS]expK ler_ln ?posrE ?divr_gt0 ?expR_gt0//.
by rewrite ler_pdivr_mulr.
Qed.
End Classic.

(* The hypotheses can hold, and the factor is attained in the limit only: here the loss of one pair is positive. *)
Section Example.
Variable R : realType.
Let k (w o : bool) : R := if w == o then 1 else expR (- 1).

Example two_words_lose_exactly_one : loses_exactly 1 (law (fun=> 1) k true) (law (fun=> 1) k false).
Proof.
have k0 w o : 0 < k w o by rewrite /k; case: (w == o); rewrite ?ltr01 ?expR_gt0.
have z0 u : 0 < normaliser (fun=> 1) k u.
  by rewrite /normaliser big_bool/= !mul1r addr_gt0.
have zE : normaliser (fun=> 1) k false / normaliser (fun=> 1) k true = 1.
  have -> : normaliser (fun=> 1) k false = normaliser (fun=> 1) k true.
    by rewrite /normaliser !big_bool /k /= addrC.
  by rewrite divff// gt_eqF.
have le1 : expR (- 1) <= 1 :> R by rewrite ltW// expR_lt1 oppr_lt0 ltr01.
have h o : k true o <= expR 1 * k false o.
  case: o; rewrite /k /= -?expRD ?subrr ?expR0//.
  by rewrite mulr1; apply: le_trans le1 _; rewrite ltW// expR_gt1 ltr01.
have := law_by_weights_loss (s := fun=> 1) (k := k) (fun=> ler01) (z0 true) (z0 false) h.
rewrite zE ln1 addr0 => l; split=> //; exists true.
  by rewrite /law divr_gt0 ?mulr_gt0 ?ltr01.
have := law_ratio (s := fun=> 1) (k := k) 1 true (z0 true) (z0 false).
by rewrite zE ln1 addr0 => ->; rewrite /k /= -expRD subrr expR0.
Qed.
End Example.
