(* Every main theorem applied to a small case in which all its hypotheses hold: none of them is about nothing.

   Cases that have a name already stand in their own files: two words and randomised response (finite_laws.v, balance.v), the
   Hamming distance as a swap metric (swap_metric.v), the bound of a person attained (person_bound.v). *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences exp.
From mathcomp Require Import finset ring zify.
From symveil Require Import loss finite_laws hamming_words tight_calibration staircase composition.
From symveil Require Import post_processing group_privacy.
From symveil Require Import detours swap_metric draws uniform_integer integer_boundary laplace discrete_laplace.
From symveil Require Import person_bound central_noise partition_selection labelled_chains least_distance.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

(* Words of three bits, weights exp(-distance) *)
Section Bits.
Variable R : realType.
Notation word := {ffun 'I_3 -> bool}.
Let r (l : nat) : R := expR (- (1 * l%:R)).
Let P : word -> word -> R := law_by_distance r.
Let r_gt0 l : 0 < r l. Proof. exact: expR_gt0. Qed.
Let P_ge0 w o : 0 <= P w o. Proof. by rewrite ltW// law_by_distance_gt0. Qed.

Let within (b : nat) : (b <= 3)%N -> forall w v : word, (dist w v <= b)%N -> loses_at_most (1 * b%:R) (P w) (P v).
Proof. by move=> b3; have [] := @tight_exponential R _ 3 b 1 ler01 (eq_leq (esym card_bool)) b3. Qed.

Example one_bit_is_exact : exists w v : word, (dist w v <= 1)%N /\ loses_exactly (1 * 1%:R) (P w) (P v).
Proof. by have [] := @tight_exponential R _ 3 1 1 ler01 (eq_leq (esym card_bool)) isT. Qed.

Example two_bits_by_groups (w v : word) : (dist w v <= 2 * 1)%N -> loses_at_most (2%:R * (1 * 1%:R)) (P w) (P v).
Proof. by apply: group_privacy_words => w' v'; exact: within. Qed.

(* For two bits and epsilon = 2 one of the two staircases is no worse than the exponential mechanism *)
Example bits_by_staircase : exists2 t, (0 < t <= 2)%N &
  forall w : word, expected (@staircase R _ 3 2 (1 * 2%:R) t) w <= mean_expected P.
Proof.
apply: (@staircase_optimal R _ 3 2 (1 * 2%:R)) => //; [by rewrite mul1r ltr0n|by rewrite card_bool|].
split=> [//|w|w v]; last exact: within.
by apply: law_sum1; exact: normaliser_by_distance_gt0.
Qed.

(* A model with one state accepts every word; its detours are single symbols *)
Example bits_by_detours (w v : word) : loses_at_most (1 * (dist w v)%:R) (P w) (P v).
Proof.
apply: (@graceful_by_detours _ 3 unit_eqType tt (fun _ _ _ => tt) xpredT R _ P) => // w' v' _ _ _.
exact: within (dist_le w' v') _ _ (leqnn _).
Qed.

(* A chain that allows every move; its state is the last symbol, so detours are blocks *)
Let next (_ : nat) (_ : option bool) (a : bool) := Some a.

Example bits_by_blocks (w v : word) : exists s, [/\ by_detours None next xpredT w s, last w s = v &
  loses_at_most (along (fun w v => 1 * (dist w v)%:R) w s) (P w) (P v)].
Proof.
have [|s [ds ls _ os]] := @detours_add_up _ 3 _ None next xpredT R _ P (fun w v => 1 * (dist w v)%:R) _ w v isT isT; last by exists s.
by move=> w' v' _ _ _; exact: bits_by_detours.
Qed.

Example a_block (w v : word) : one_detour None next w v ->
  exists k k', (k < k' <= 3)%N /\ forall i : 'I_3, (w i != v i) = (k <= i < k')%N.
Proof.
apply: detour_is_block => i /=; case: insubP => [j _ /val_inj->|]; last by rewrite ltn_ord.
by rewrite /next; split=> [[]|->].
Qed.

(* Three releases of one word; what is forgotten loses nothing more *)
Example three_releases (w v : word) (os : seq word) : (dist w v <= 1)%N -> size os = 3%N ->
  answers (fun _ => P w) [::] os <= expR (\sum_(i < 3) 1 * 1%:R) * answers (fun _ => P v) [::] os.
Proof. by move=> wv; apply: (@composition _ _ _ _ (fun=> 1 * 1%:R)) => // past; exact: within. Qed.

Example first_bit_only (w v : word) : (dist w v <= 1)%N ->
  let first (o : word) (b : bool) : R := (o ord0 == b)%:R in
  loses_at_most (1 * 1%:R) (processed first (P w)) (processed first (P v)).
Proof. by move=> wv first; apply: post_processing; [move=> o b; rewrite ler0n|exact: within]. Qed.

Example bits_swapped (w v : word) :
  let c (i : 'I_3) (a a' : bool) := Some (a != a' : nat) in
  (dist w v <= 1)%N ->
  1 * (distance c w v)%:R + ln (normaliser (fun=> 1) (swap_metric.weight c 1) v / normaliser (fun=> 1) (swap_metric.weight c 1) w) <= 2 * 1 * 1%:R :> R.
Proof.
move=> c wv; have [c0 cs ct cr] := hamming_costs bool_finType 3.
by have [_ /(_ wv)] := @swap_metric_loss R _ 3 c (fun=> 1) 1 c0 cs ct ler01 (fun=> ler01) 1 w v (cr w v) ltr01 ltr01.
Qed.
End Bits.

(* A die from three bits *)
Example a_die (R : realType) : ((fun rounds => chance R (uniform_below 6 3 rounds) (pred1 5%N)) --> (6^-1 : R))%classic.
Proof. by have [] := @uniform_below_law R 6 3 isT isT 5 isT. Qed.

(* Three pieces of equal length, cut by comparing whole numbers of one bit, then two, then three ... *)
Section Thirds.
Variable R : realType.
Let cut (i : nat) : R := (minn i 3)%:R / 3.

Example a_third (i : nat) : (i <= 2)%N ->
  ((fun words => chance R (resolve 1 (floor_decision 1 2 cut) words 0 0) (pred1 i)) --> (1 / 3 : R))%classic.
Proof.
move=> i2; have -> : 1 / 3 = cut i.+1 - cut i :> R.
  rewrite /cut (minn_idPl (i2 : (i.+1 <= 3)%N)) (minn_idPl (leqW i2)) -mulrBl -natrB// subSnn.
  by [].
have cut0 : cut 0 = 0 by rewrite /cut min0n mul0r.
have cut1 : cut 3 = 1 by rewrite /cut minnn divff ?pnatr_eq0.
have sorted : {homo cut : a b / (a <= b)%N >-> a <= b}.
  by move=> a b ab; rewrite /cut ler_pmul2r ?invr_gt0 ?ltr0n// ler_nat leq_min geq_minr andbT (leq_trans (geq_minl _ _)).
exact: (floor_decision_law cut0 cut1 sorted).
Qed.
End Thirds.

(* The table of a file, and the table with all things of one more person: the noise of scale L M / epsilon loses epsilon *)
Example central_table (R : realType) (C : finType) (epsilon : R) (M L : nat) (others : C -> nat) (things : seq C) :
  0 < epsilon -> (0 < L * M)%N ->
  loses_at_most epsilon (noisy epsilon (L * M) (fun c => (others c + added M L things c)%N%:Z)) (noisy epsilon (L * M) (fun c => (others c)%:Z)).
Proof. by move=> e0 a0; apply: central_noise => //; exact: table_l1. Qed.

(* One cell that only the new person has, added once *)
Example one_new_cell (R : realType) (epsilon : R) (t : nat) : 0 < epsilon -> (0 < t)%N ->
  let q := expR (- (epsilon / 1%:R)) in
  let V := 'I_9 in let val (v : V) := (v : nat)%:Z in let delta := (expR epsilon + 1%:R - 1) * q ^+ t / (1 + q) in
  forall F : {set {ffun unit -> option V}},
    chance_of val epsilon 1 t (set0 :|: [set tt]) (fun=> 1) F
      <= expR epsilon * chance_of val epsilon 1 t set0 (fun=> 0) F + delta.
Proof.
move=> e0 t0 q V val delta F.
have q0 : 0 < q by exact: expR_gt0.
have val_inj : injective val by move=> a b [/ord_inj].
have apart x : x \in (set0 : {set unit}) -> x \notin [set tt] by rewrite inE.
have few : (#|[set tt]| <= 1)%N by rewrite cards1.
have one_ge0 (x : unit) : x \in [set tt] -> 0 <= 1 :> int by [].
have person : (\sum_(x in (set0 : {set unit})) `|(0 - 1 : int)%R| + \sum_(x in [set tt]) `|(1 : int)%R| <= 1)%N.
  by rewrite big_set0 big_set1.
have delta0 : 0 <= delta.
  by rewrite /delta addrK divr_ge0 ?mulr_ge0 ?exprn_ge0 ?addr_ge0 ?ler01 ?(ltW q0)// ltW// expR_gt0.
by have [] := partition_selection val_inj e0 (isT : (0 < 1)%N) apart few one_ge0 person (t := t) t0 (lexx delta) F delta0.
Qed.

(* Labelled chains: 0 on the diagonal and 1 elsewhere is a certificate; a state loses nothing against itself *)
Section Chain.
Variables (R : realType) (S B : finType) (label : S -> B) (mu : S -> S -> R) (ratio : R).
Hypothesis mu_ge0 : forall s i, 0 <= mu s i.
Hypothesis mu_sum1 : forall s, \sum_i mu s i = 1.
Hypothesis ratio_ge1 : 1 <= ratio.

Let apart : certificate label mu ratio (fun s s' => (s != s')%:R).
Proof.
split=> [x y|x y]; first exact: ler0n.
rewrite /gamma_at_most; have [->|xy] := eqVneq x y.
  rewrite eqxx => f [f01 _]; rewrite -oppr_ge0 -sumrN; apply: sumr_ge0 => i _; have /andP[f0 _] := f01 i.
  by rewrite oppr_ge0 mulr_le0_ge0// subr_le0 ler_pemull.
case: ifP => // _ f [f01 _]; rewrite -(mu_sum1 x); apply: ler_sum => i _; have /andP[f0 f1] := f01 i.
apply: (@le_trans _ _ (mu x i * f i)); last by rewrite ler_pimulr.
by rewrite ler_wpmul2r// ler_subl_addr ler_addl mulr_ge0// (le_trans ler01).
Qed.

Example same_state (T : nat) (s : S) E : (0 < T)%N -> seen label mu T s E <= ratio * seen label mu T s E.
Proof.
move=> T0; rewrite -subr_le0.
by have := certificate_bounds_delta mu_ge0 mu_sum1 ratio_ge1 apart s s E T0; rewrite eqxx.
Qed.

Example no_distance (s : S) : ld label mu ratio (s, s) = 0.
Proof.
have [_ least] := ld_is_least_fixed label mu_ge0 mu_sum1 ratio_ge1.
have ge0 (p : S * S) : 0 <= (p.1 != p.2)%:R :> R by exact: ler0n.
have h : above_gamma label mu ratio (fun p => (p.1 != p.2)%:R).
  by split=> // p; apply/(gamma_at_mostP label mu_ge0 mu_sum1 ratio_ge1 p _ ge0); exact: apart.2.
apply/eqP; rewrite eq_le; apply/andP; split; last exact: ld_ge0.
by have := least _ h (s, s); rewrite /= eqxx.
Qed.
End Chain.

(* The operator x -> (x+1)/2 on one number: its least certificate is 1, and no fixed point lies above *)
Example half_way (R : realFieldType) (lgd : unit -> R) : (forall i, 0 <= lgd i) ->
  (forall i, held (fun x i => (x i + 1) / 2) (fun=> 1) lgd i = lgd i) -> forall i, lgd i <= 1.
Proof.
apply: ld_is_lgd => [x y _ xy i|t x y _ _ _ i|_|_|x _ xx i].
- by rewrite ler_pmul2r ?invr_gt0 ?ltr0n// ler_add2r.
- by rewrite le_eqVlt; apply/orP; left; apply/eqP; field.
- exact: ler01.
- by field.
- have := xx i; rewrite ler_pdivr_mulr ?ltr0n// mulr_natr mulr2n ler_add2l.
  exact.
Qed.
