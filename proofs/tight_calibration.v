(* Tight calibration on all words of length n (docs/theory/losses.md, Theorem 1.1).

   A mechanism releases o with probability r(dist w o) / Z(w), r > 0. Adjacent words differ in at most b positions.

   tight_calibration_bound: if r(d) <= exp(a) r(d') for all d, d' in 0..n with |d - d'| <= b, adjacent words lose at most a.
   tight_calibration_attained: for any such d, d' some adjacent words w, v and an output o have
     P(o|w) / P(o|v) = r(d) / r(d'). So no smaller a will do.
   tight_exponential: for r(l) = exp(-eta l) and b <= n the loss is exactly eta b: eta = epsilon / b is epsilon-private.

   Attainment needs two symbols at least: with one there is one word. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring.
From symveil Require Import loss finite_laws hamming_words.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section TightCalibration.
Variables (R : realType) (A : finType) (n : nat) (r : nat -> R).
Notation word := {ffun 'I_n -> A}.
Hypothesis r_gt0 : forall l, 0 < r l.

Definition law_by_distance : word -> word -> R := law (fun=> 1) (fun w o => r (dist w o)).

Lemma normaliser_by_distance_gt0 (w : word) : 0 < normaliser (fun=> 1) (fun w o : word => r (dist w o)) w.
Proof.
rewrite /normaliser (bigD1 w)//= ltr_spaddl ?mulr_gt0 ?ltr01//.
by apply: sumr_ge0 => o _; rewrite mul1r ltW.
Qed.

Lemma normaliser_by_distance_constant (w v : word) :
  normaliser (fun=> 1) (fun w o : word => r (dist w o)) w = normaliser (fun=> 1) (fun w o : word => r (dist w o)) v.
Proof.
rewrite /normaliser; under eq_bigr do rewrite mul1r.
by under [RHS]eq_bigr do rewrite mul1r; apply: sum_by_distance_constant.
Qed.

Lemma law_by_distance_gt0 (w o : word) : 0 < law_by_distance w o.
Proof. by rewrite divr_gt0 ?normaliser_by_distance_gt0// mul1r. Qed.

Theorem tight_calibration_bound (b : nat) (a : R) :
  (forall d d', (d <= n)%N -> (d' <= n)%N -> (d <= d' + b)%N -> (d' <= d + b)%N -> r d <= expR a * r d') ->
  forall w v : word, (dist w v <= b)%N -> loses_at_most a (law_by_distance w) (law_by_distance v).
Proof.
move=> h w v wv o; rewrite /law_by_distance /law (normaliser_by_distance_constant w v) mulrA.
rewrite ler_wpmul2r ?invr_ge0 ?(ltW (normaliser_by_distance_gt0 _))// !mul1r.
apply: h; rewrite ?dist_le//.
  by apply: leq_trans (dist_triangle w v o) _; rewrite addnC leq_add2l.
by apply: leq_trans (dist_triangle v w o) _; rewrite addnC leq_add2l distC.
Qed.

Theorem tight_calibration_attained (b d d' : nat) :
  (1 < #|A|)%N -> (d <= n)%N -> (d' <= n)%N -> (d <= d' + b)%N -> (d' <= d + b)%N ->
  exists w v o : word, (dist w v <= b)%N /\ law_by_distance w o / law_by_distance v o = r d / r d'.
Proof.
move=> A2 dn d'n dd' d'd.
have [o [w [v [wo vo wv]]]] := word_pair_at A2 dn d'n.
exists w, v, o; split.
  rewrite wv; case: (leqP d d') => [le|/ltnW le].
    by rewrite (eqP le) add0n leq_subLR.
  by rewrite (eqP le) addn0 leq_subLR.
rewrite /law_by_distance /law (normaliser_by_distance_constant w v) wo vo.
have E (x y z : R) : y != 0 -> z != 0 -> 1 * x / z / (1 * y / z) = x / y.
  by move=> y0 z0; field; rewrite y0 z0.
by apply: E; rewrite gt_eqF// normaliser_by_distance_gt0.
Qed.

End TightCalibration.

Section TightExponential.
Variables (R : realType) (A : finType) (n b : nat) (eta : R).
Notation word := {ffun 'I_n -> A}.
Let r (l : nat) : R := expR (- (eta * l%:R)).

Theorem tight_exponential :
  0 <= eta -> (1 < #|A|)%N -> (b <= n)%N ->
  (forall w v : word, (dist w v <= b)%N ->
     loses_at_most (eta * b%:R) (law_by_distance r w) (law_by_distance r v)) /\
  (exists w v : word, (dist w v <= b)%N /\
     loses_exactly (eta * b%:R) (law_by_distance r w) (law_by_distance r v)).
Proof.
move=> eta0 A2 bn.
have r0 l : 0 < r l by apply: expR_gt0.
have bound := @tight_calibration_bound R A n r r0 b (eta * b%:R).
have {}bound : forall w v : word, (dist w v <= b)%N ->
     loses_at_most (eta * b%:R) (law_by_distance r w) (law_by_distance r v).
  apply: bound => d d' _ _ _ d'd.
  rewrite -expRD ler_expR -subr_ge0.
  have -> : eta * b%:R - eta * d'%:R - - (eta * d%:R) = eta * ((d + b)%:R - d'%:R) by rewrite natrD; ring.
  by rewrite mulr_ge0// subr_ge0 ler_nat.
split=> //.
have [w [v [o [wv E]]]] := tight_calibration_attained r0 A2 (leq0n n) bn (leq0n _) (leqnn b).
exists w, v; split=> //; split; first exact: bound.
exists o; first exact: law_by_distance_gt0.
have := congr1 (fun x => x * law_by_distance r v o) E.
rewrite divfK ?gt_eqF ?law_by_distance_gt0// => ->; congr (_ * _).
by rewrite /r mulr0 oppr0 expR0 div1r -expRN opprK.
Qed.

End TightExponential.
