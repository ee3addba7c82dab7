(* A choice between real boundaries by comparing whole numbers: Boundaries in src/symveil/randomness/choices.py
   (docs/theory/hidden-lengths.md, "Choices").

   Cut points 0 <= c_1 <= ... <= c_k <= 1 cut [0,1) into pieces; a uniform real number is known by its first words of `width`
   bits, a whole number p below 2^(width j) after j words. A decision looks at j and p and either answers a piece or
   does not know, in which case one more word of the same number is drawn. It is sound if piece i is only answered
   where the whole interval [p, p+1) / 2^(width j) lies in it.

   never_too_much: with a sound decision the probability that piece i has been answered is, after any number of words, at
     most the length of the piece. So nothing is lost or gained but what is undecided.
   integer_boundary_law: if the decision also knows whenever p is farther than `slack` from floor(c_i 2^(width j)) for all i,
     the probability of piece i tends to its length: the law is exact.
   The decision of Boundaries.pick compares p with floor(c_i 2^width): smaller means before c_i, larger means after, and on
   a tie more bits are drawn. floor_decision_sound, floor_decision_decisive: it is sound, and decisive with slack 0. Boundaries.resolve
   compares the ends of the interval with balls that contain c_i: each comparison that it calls certain is one of real
   numbers, so it is sound; it is decisive with some slack as its balls are narrower than 2^-(width j). That the balls contain
   c_i is the promise of ball arithmetic and not part of this file.

   All words have `width` bits here. The code draws 64 more bits on a tie, also where the first word has 32; that Boundaries.pick
   computes the floor from a ball, and calls a word undecided where the ball does not say, only makes it ask more often.

   Pieces are numbered 0 .. k; cut i is the left end of piece i, cut 0 = 0, cut (k+1) = 1. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences.
From mathcomp Require Import ring zify.
From symveil Require Import limits draws.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section IntegerBoundary.
Variables (R : realType) (width : nat) (k : nat) (cut : nat -> R).
Hypothesis cut0 : cut 0 = 0.
Hypothesis cut1 : cut k.+1 = 1.
Hypothesis cut_sorted : {homo cut : i j / (i <= j)%N >-> i <= j}.

Let base := (2 ^ width)%N.
Let base_gt0 : (0 < base)%N. Proof. by rewrite expn_gt0. Qed.
Let grid (j : nat) : R := (base ^ j)%:R.

Let grid_neq0 j : grid j != 0. Proof. by rewrite gt_eqF// ltr0n expn_gt0 base_gt0. Qed.
Let grid_gt0 j : 0 < grid j. Proof. by rewrite ltr0n expn_gt0 base_gt0. Qed.

Section Decision.
Variable decide : nat -> nat -> option nat.

Definition sound := forall j p i, (p < base ^ j)%N -> decide j p = Some i ->
  [/\ (i <= k)%N, cut i * grid j <= p%:R & p.+1%:R <= cut i.+1 * grid j].

(* p is near the whole number below cut i *)
Definition near_cut (slack : nat) (i j p : nat) : bool := (`|(p%:Z - floor (cut i * grid j))%R| <= slack)%N.

Definition decisive (slack : nat) := forall j p, decide j p = None -> exists2 i, (0 < i <= k)%N & near_cut slack i j p.

(* The piece of the number whose first j words are p, with at most `words` more words *)
Fixpoint resolve (words j p : nat) : draw nat :=
  if decide j p is Some i then Return i
  else if words is w.+1 then Uniform base (fun word => resolve w j.+1 (p * base + word)%N) else Pending.

(* x, moved into piece i *)
Let clamp (i : nat) (x : R) : R := Num.min (Num.max x (cut i)) (cut i.+1).

Lemma clamp_mono i x y : x <= y -> clamp i x <= clamp i y.
Proof. by move=> xy; rewrite /clamp le_minr !le_minl lexx orbT andbT le_maxl !le_maxr xy lexx orbT. Qed.

Lemma clamp_id i x : cut i <= x <= cut i.+1 -> clamp i x = x.
Proof. by move=> /andP[a b]; rewrite /clamp max_l// min_l. Qed.

Lemma prefix_lt j p word : (p < base ^ j)%N -> (word < base)%N -> (p * base + word < base ^ j.+1)%N.
Proof.
move=> pj wb; apply: (@leq_trans (p.+1 * base)); last by rewrite expnSr leq_mul2r pj orbT.
by rewrite mulSn addnC ltn_add2r.
Qed.

Lemma resolve_le w j p i : sound -> (p < base ^ j)%N ->
  chance R (resolve w j p) (pred1 i) <= (clamp i (p.+1%:R / grid j) - clamp i (p%:R / grid j)) * grid j.
Proof.
move=> snd; elim: w j p => [|w IH] j p pj /=; case D: (decide j p) => [i'|].
1,3: rewrite /chance/=; case: eqP => [E|_] /=; last first.
1,3: by rewrite mulr_ge0 ?(ltW (grid_gt0 j))// subr_ge0 clamp_mono// ler_pmul2r ?invr_gt0 ?grid_gt0// ler_nat.
1,2: have [_ a b] := snd j p i' pj D; subst i'.
1,2: rewrite !clamp_id ?ler_pdivl_mulr ?ler_pdivr_mulr ?grid_gt0 ?a ?b ?(le_trans a) ?(le_trans _ b) ?ler_nat//.
1,2: by rewrite -mulrBl -natrB// subSnn divfK.
  by rewrite /chance/= mulr_ge0 ?(ltW (grid_gt0 j))// subr_ge0 clamp_mono// ler_pmul2r ?invr_gt0 ?grid_gt0// ler_nat.
rewrite /chance/= ler_pdivr_mulr ?ltr0n//.
pose f x := clamp i ((p * base + x)%N%:R / grid j.+1).
have step x : (x < base)%N ->
    mean (resolve w j.+1 (p * base + x)%N) (fun y => (pred1 i y)%:R) <= (f x.+1 - f x) * grid j.+1.
  by move=> xb; rewrite /f addnS; apply: IH; exact: prefix_lt.
apply: (@le_trans _ _ (\sum_(x < base) (f x.+1 - f x) * grid j.+1)).
  by apply: ler_sum => x _; exact: step.
rewrite -mulr_suml -(big_mkord xpredT (fun x => f x.+1 - f x)) telescope_sumr//.
have gS : grid j.+1 = grid j * base%:R by rewrite /grid expnSr natrM.
have b0 : base%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have e x : (x * base)%N%:R / grid j.+1 = x%:R / grid j.
  by rewrite gS natrM; field; rewrite b0 grid_neq0.
by rewrite /f addn0 -mulSnr !e gS mulrA.
Qed.

Theorem never_too_much w i : sound -> (i <= k)%N -> chance R (resolve w 0 0) (pred1 i) <= cut i.+1 - cut i.
Proof.
have pj : (0 < base ^ 0)%N by rewrite expn0.
move=> snd ik; apply: le_trans (resolve_le w i snd pj) _.
rewrite /grid expn0 !divr1 mulr1.
have c0 : 0 <= cut i by rewrite -cut0 cut_sorted.
have c1 : cut i.+1 <= 1 by rewrite -cut1 cut_sorted.
have c : cut i <= cut i.+1 by rewrite cut_sorted.
by rewrite /clamp (max_l (le_trans c c1)) (min_r c1) (max_r c0) (min_l c).
Qed.

(* What is still undecided *)
Let undecided w j p : R := 1 - mean (resolve w j p) (fun=> 1).
Let cuts_near slack j p : nat := (\sum_(i < k) near_cut slack i.+1 j p)%N.

Lemma undecided_le slack w j p : decisive slack ->
  undecided w j p * grid w <= (\sum_(l < base ^ w) cuts_near slack (j + w) (p * base ^ w + l))%N%:R.
Proof.
move=> dec; rewrite /undecided; elim: w j p => [|w IH] j p /=; case D: (decide j p) => [i'|] /=.
1,3: by rewrite subrr mul0r ler0n.
  rewrite subr0 mul1r /grid expn0 ler_nat big_ord1 addn0 muln1 addn0.
  have [i /andP[i0 ik] n] := dec _ _ D.
  have ik' : (i.-1 < k)%N by rewrite prednK.
  by rewrite /cuts_near (bigD1 (Ordinal ik'))//= prednK// n.
pose F x := cuts_near slack (j + w.+1) (p * base ^ w.+1 + x).
have -> : (\sum_(l < base ^ w.+1) F l = \sum_(x < base) \sum_(l < base ^ w) F (l + base ^ w * x))%N.
  by rewrite expnSr; exact: (sum_blocks_nat F).
have b0 : base%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have -> : (1 - (\sum_(i < base) mean (resolve w j.+1 (p * base + i)%N) (fun=> 1)) / base%:R) * grid w.+1
   = \sum_(i < base) (1 - mean (resolve w j.+1 (p * base + i)%N) (fun=> 1)) * grid w.
  pose S := \sum_(i < base) mean (resolve w j.+1 (p * base + i)%N) (fun=> 1 : R); rewrite -/S.
  rewrite -mulr_suml sumrB sumr_const card_ord -/S /grid expnSr natrM; field.
  exact: b0.
rewrite natr_sum; apply: ler_sum => x _; apply: le_trans (IH _ _) _.
rewrite ler_nat; apply: leq_sum => l _; rewrite /F addSnnS.
by rewrite mulnDl -mulnA -expnS (mulnC x) -addnA (addnC (l : nat)).
Qed.

Lemma count_near slack (z : int) N : (\sum_(l < N) (`|(l%:Z - z)%R| <= slack) <= slack.*2.+1)%N.
Proof.
pose s := [seq l%:Z - z | l <- iota 0 N].
have -> : (\sum_(l < N) (`|(l%:Z - z)%R| <= slack) = count (fun x : int => (`|x| <= slack)%N) s)%N.
  rewrite count_map -sum1_count [RHS]big_mkcond /= -(big_mkord xpredT (fun l => nat_of_bool (`|(l%:Z - z)%R| <= slack)%N)).
  by rewrite /index_iota subn0; apply: eq_bigr => l _; case: ifP.
rewrite -size_filter.
pose window := [seq (l%:Z - slack%:Z)%R | l <- iota 0 slack.*2.+1].
rewrite -[slack.*2.+1](size_iota 0) -(size_map (fun l => (l%:Z - slack%:Z)%R)); apply: uniq_leq_size.
  by rewrite filter_uniq// map_inj_uniq ?iota_uniq// => a b /addIr[].
move=> x; rewrite mem_filter => /andP[xs _]; apply/mapP.
by exists `|(x + slack%:Z)%R|%N; [rewrite mem_iota; lia|lia].
Qed.

Theorem integer_boundary_law slack i : sound -> decisive slack -> (0 < width)%N -> (i <= k)%N ->
  ((fun words => chance R (resolve words 0 0) (pred1 i)) --> cut i.+1 - cut i)%classic.
Proof.
move=> snd dec w0 ik.
pose C : R := (k * slack.*2.+1)%N%:R.
have und w : undecided w 0 0 <= C / grid w.
  rewrite ler_pdivl_mulr ?grid_gt0//; apply: le_trans (undecided_le w 0 0 dec) _.
  rewrite ler_nat add0n exchange_big /= -[X in (_ <= X * _)%N](card_ord k) -sum_nat_const.
  by apply: leq_sum => i' _; rewrite /near_cut; exact: count_near.
have sum_cuts : \sum_(i < k.+1) (cut i.+1 - cut i) = 1.
  by rewrite -(big_mkord xpredT (fun i => cut i.+1 - cut i)) telescope_sumr// cut1 cut0 subr0.
have answered w : \sum_(i < k.+1) chance R (resolve w 0 0) (pred1 (i : nat)) = mean (resolve w 0 0) (fun=> 1).
  have : forall j p, (p < base ^ j)%N ->
      \sum_(i < k.+1) chance R (resolve w j p) (pred1 (i : nat)) = mean (resolve w j p) (fun=> 1).
    elim: w => [|w IH] j p pj /=; case D: (decide j p) => [i'|].
    1,3: have [ik' _ _] := snd _ _ _ pj D.
    1,2: rewrite (bigD1 (Ordinal (ik' : (i' < k.+1)%N)))//= /chance/= eqxx big1 ?addr0// => x /eqP xi.
    1,2: by case: eqP => // E; case: xi; apply: val_inj.
      by rewrite /chance /= big1.
    rewrite /chance /= -mulr_suml exchange_big /=; congr (_ / _); apply: eq_bigr => x _.
    by apply: IH; exact: prefix_lt.
  by apply; rewrite expn0.
have low w : cut i.+1 - cut i - C / grid w <= chance R (resolve w 0 0) (pred1 i).
  pose gap (x : 'I_k.+1) := cut x.+1 - cut x - chance R (resolve w 0 0) (pred1 (x : nat)).
  have gap0 x : 0 <= gap x by rewrite subr_ge0 never_too_much// -ltnS.
  have : gap (Ordinal (ik : (i < k.+1)%N)) <= undecided w 0 0.
    rewrite /undecided -answered -sum_cuts -sumrB (bigD1 (Ordinal (ik : (i < k.+1)%N)))//= ler_addl.
    by apply: sumr_ge0 => x _; exact: gap0.
  move=> /le_trans /(_ (und w)); rewrite /gap /= => h.
  by rewrite ler_subl_addr -ler_subl_addl.
apply: (@squeeze_cvgr _ _ _ _ (fun w => cut i.+1 - cut i - C / grid w) _ (fun=> cut i.+1 - cut i)).
- near=> w; rewrite low never_too_much//.
- rewrite -[X in (_ --> X)%classic]subr0; apply: limit_sub; first exact: limit_constant.
  apply: (@limit_eq _ _ (fun w => C * (base%:R^-1) ^+ w)) => [w|].
    by rewrite /grid natrX exprVn.
  rewrite -[X in (_ --> X)%classic](mulr0 C); apply: limit_mul; first exact: limit_constant.
  apply: limit_power; rewrite invr_ge0 ler0n /= invf_lt1 ?ltr0n// ltr1n /base.
  by rewrite -{1}(expn0 2) ltn_exp2l.
- exact: limit_constant.
Unshelve. all: by end_near.
Qed.

End Decision.

(* Boundaries.pick: the first cut whose floor is not passed, and a tie where p is that floor *)
Let floor_of (i j : nat) : int := floor (cut i * grid j).

Definition floor_decision (j p : nat) : option nat :=
  let passed := find (fun i => p%:Z <= floor_of i.+1 j) (iota 0 k) in
  if (passed < k)%N && (floor_of passed.+1 j <= p%:Z) then None else Some passed.

Theorem floor_decision_sound : sound floor_decision.
Proof.
move=> j p i pj; rewrite /floor_decision; set passed := find _ _.
have passed_le : (passed <= k)%N by rewrite /passed -[X in (_ <= X)%N](size_iota 0) find_size.
case: ifPn => // nd [<-]; split=> //.
- case P: passed => [|m]; first by rewrite cut0 mul0r ler0n.
  have mp : (m < passed)%N by rewrite P.
  have := before_find 0%N mp; rewrite nth_iota ?(leq_trans mp)// add0n => /negbT; rewrite -ltNge => h.
  apply: ltW; apply: lt_le_trans (lt_succ_floor _) _.
  by move: h; rewrite -lez_addr1 -(ler_int R) intrD.
- move: nd; rewrite negb_and -leqNgt => /orP[kp|].
    have -> : passed = k by apply/eqP; rewrite eqn_leq passed_le.
    by rewrite cut1 mul1r ler_nat.
  rewrite -ltNge => h; apply: le_trans (floor_le _).
  by rewrite -[p.+1%:R]/((p.+1%:Z)%:~R) ler_int.
Qed.

Theorem floor_decision_decisive : decisive floor_decision 0.
Proof.
move=> j p; rewrite /floor_decision; set passed := find _ _; case: ifP => // /andP[pk h] _.
exists passed.+1 => //.
have has_passed : has (fun i => p%:Z <= floor_of i.+1 j) (iota 0 k) by rewrite has_find size_iota.
have := nth_find 0%N has_passed; rewrite -/passed nth_iota// add0n => h'.
by rewrite /near_cut leqn0 absz_eq0 subr_eq0 eq_le h h'.
Qed.

Corollary floor_decision_law i : (0 < width)%N -> (i <= k)%N ->
  ((fun words => chance R (resolve floor_decision words 0 0) (pred1 i)) --> cut i.+1 - cut i)%classic.
Proof. exact: integer_boundary_law floor_decision_sound floor_decision_decisive. Qed.

End IntegerBoundary.
