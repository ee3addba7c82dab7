(* The staircase is optimal on all words of length n (docs/theory/lower-bounds.md, Theorem 3.1).

   Words of n symbols over a finite alphabet of two symbols or more; adjacent words differ in at most b positions. The staircase with
   first step t in 1..b releases a word at distance l with probability exp(-epsilon k(l)) / Z, where k(l) is l - t + 1, or 0
   where that is negative, divided by b and rounded up (Staircase in src/symveil/mechanisms/staircase.py).

   staircase_private: it is epsilon-private, and loses exactly epsilon for b <= n.
   staircase_optimal: let P be any epsilon-private mechanism from these words to these words, whatever its form. For some t the
     expected distance of the staircase, which is the same for every word, is at most the mean of the expected distances of P
     over all words. So none has a smaller expected distance for uniform words than the staircase with the best t.
   staircase_optimal_worst: nor a smaller worst-case expected distance.

   The proof has four steps. Means over all isometries: only the distance matters (weight_of_distance). Weights r(l) are a mixture of
   exp(-epsilon k(l)) with whole k(l), where k changes by at most 1 over b distances (whole_exponents): r = c^m (1 + (c-1) y) with c = exp(epsilon),
   m whole, y in [0,1), is the mean of c^(m + [x < y]) over x in [0,1] (layers). Between the distances below the expected one and those above it a
   staircase lies on the right side of k (staircase_between). So one of these staircases is no worse. *)

From mathcomp Require Import all_ssreflect fingroup perm all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring zify.
From symveil Require Import loss finite_laws hamming_words tight_calibration.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* A sum of a * y, y in [0,1], is a mean of sums of a over those whose y is above x *)
Section Layers.
Variables (R : realFieldType) (I : finType) (a y : I -> R) (B : R).
Let above (x : R) : R := B + \sum_i a i * (x < y i)%R%:R.

Fixpoint steps (x : R) (s : seq R) (z : R) : R := if s is x' :: s' then (x' - x) * (x < z)%R%:R + steps x' s' z else 0.

Lemma steps_none x s z : path <=%R x s -> z <= x -> steps x s z = 0.
Proof.
elim: s x => //= x' s IH x /andP[xx' ps] zx.
by rewrite ltNge zx mulr0 add0r IH// (le_trans zx).
Qed.

Lemma steps_all x s z : path <=%R x s -> z \in x :: s -> steps x s z = z - x.
Proof.
elim: s x => [|x' s IH] x /=; first by rewrite inE => _ /eqP->; rewrite subrr.
case/andP=> xx' ps; rewrite in_cons => /predU1P[->|zs]; first by rewrite ltxx mulr0 add0r subrr steps_none.
have x'z : x' <= z by move: zs; rewrite in_cons => /predU1P[->//|]; exact/allP/order_path_min/ps/le_trans.
rewrite IH//; have [xz|zx] := ltP x z; first by rewrite mulr1; ring.
by rewrite mulr0 add0r; congr (_ - _); apply/eqP; rewrite eq_le xx' (le_trans x'z zx).
Qed.

Lemma total_gt0 x s : path <=%R x s -> (forall x', x' \in x :: s -> 0 < above x') ->
  let total := B * (last x s - x) + \sum_i a i * steps x s (y i) in 0 <= total /\ (x < last x s -> 0 < total).
Proof.
elim: s x => [|x' s IH] x /=.
  by move=> _ _; rewrite subrr mulr0 add0r big1 ?lexx ?ltxx// => i _; rewrite mulr0.
case/andP=> xx' ps pos; have [|t0 t1] := IH x' ps; first by move=> z zs; apply: pos; rewrite in_cons zs orbT.
have -> : B * (last x' s - x) + \sum_i a i * ((x' - x) * (x < y i)%R%:R + steps x' s (y i))
    = (x' - x) * above x + (B * (last x' s - x') + \sum_i a i * steps x' s (y i)).
  rewrite (eq_bigr (fun i => (x' - x) * (a i * (x < y i)%R%:R) + a i * steps x' s (y i))); last first.
    by move=> i _; rewrite mulrDr mulrCA.
  rewrite big_split -mulr_sumr /above /=; move: (\sum_i _) (\sum_i _) => u v; ring.
have p : 0 < above x by apply: pos; rewrite mem_head.
have d : 0 <= x' - x by rewrite subr_ge0.
split=> [|xl]; first by rewrite addr_ge0// mulr_ge0// ltW.
have [e|xx] := eqVneq x x'; first by apply: ltr_paddl (mulr_ge0 d (ltW p)) (t1 _); rewrite -{1}e.
by apply: ltr_paddr t0 _; rewrite mulr_gt0// subr_gt0 lt_neqAle xx.
Qed.

Lemma layers : (forall i, 0 <= y i <= 1) -> B + \sum_i a i * y i <= 0 -> exists x, above x <= 0.
Proof.
move=> y01; pose s := sort <=%R (codom y).
have s01 z : z \in s -> 0 <= z <= 1 by rewrite mem_sort => /codomP[i ->].
have ps : path <=%R 0 (rcons s 1).
  rewrite rcons_path path_min_sorted; last by apply/allP => z /s01/andP[].
  rewrite sort_le_sorted /=.
  have : last 0 s \in 0 :: s by exact: mem_last.
  by rewrite in_cons => /predU1P[->|/s01/andP[]//]; exact: ler01.
have [/hasP[x _ h] _|none] := boolP (has (fun x => above x <= 0) (0 :: rcons s 1)); first by exists x.
have [|_] := total_gt0 ps; first by move=> x xs; rewrite ltNge; apply/negP => h; case/negP: none; apply/hasP; exists x.
rewrite last_rcons subr0 mulr1 => /(_ ltr01).
rewrite (eq_bigr (fun i => a i * y i)) => [h /(lt_le_trans h)|i _]; first by rewrite ltxx.
by rewrite (steps_all ps) ?subr0// in_cons mem_rcons in_cons mem_sort codom_f !orbT.
Qed.
End Layers.

(* Whole numbers k(0) ... k(n) that change by at most 1 over b distances *)
Section Whole.
Variables (n b : nat).
Hypothesis b_gt0 : (0 < b)%N.

Definition steps_by (t l : nat) : nat := ((l.+1 - t + b.-1) %/ b)%N.

Variable k : nat -> int.
Hypothesis slow : forall i j, (i <= n)%N -> (j <= n)%N -> (i <= j + b)%N -> (j <= i + b)%N -> k i <= k j + 1.

Lemma climb q i j : (i <= n)%N -> (j <= n)%N -> (i <= j + q * b)%N -> (j <= i + q * b)%N -> k i <= k j + q%:Z.
Proof.
elim: q i => [|q IH] i i_n jn ij ji; first by rewrite (_ : i = j) ?addr0//; lia.
have [near|far] := boolP ((i <= j + b) && (j <= i + b))%N.
  by have /andP[h1 h2] := near; have := slow i_n jn h1 h2; lia.
rewrite mulSn in ij ji.
case: (leqP i j) => [le|lt].
  have h : (i + b <= n)%N by lia.
  have h1 : k i <= k (i + b)%N + 1 by apply: slow; lia.
  by have : k (i + b)%N <= k j + q%:Z by [apply: IH; lia]; lia.
have h1 : k i <= k (i - b)%N + 1 by apply: slow; lia.
by have : k (i - b)%N <= k j + q%:Z by [apply: IH; lia]; lia.
Qed.

Lemma steps_byE t l : (0 < t <= b)%N -> steps_by t l = ((l + (b - t)) %/ b)%N.
Proof.
case/andP=> t0 tb; rewrite /steps_by; case: (leqP t l.+1) => tl; first by congr (_ %/ _)%N; lia.
by rewrite !divn_small//; lia.
Qed.

Lemma staircase_between l0 : (l0 <= n)%N -> exists t (base : int), [/\ (0 < t <= b)%N,
  forall l, (l <= l0)%N -> base + (steps_by t l)%:Z <= k l &
  forall l, (l0 < l <= n)%N -> k l <= base + (steps_by t l)%:Z].
Proof.
move=> l0n; pose rises i := (l0 + i.+1 <= n)%N && (k l0 < k (l0 + i.+1)%N).
pose i := find rises (iota 0 b).
have ib : (i <= b)%N by rewrite -[X in (_ <= X)%N](size_iota 0 b) find_size.
have low j : (0 < j <= i)%N -> (l0 + j <= n)%N -> k (l0 + j)%N <= k l0.
  case: j => // j /= ji jn; have := @before_find _ 0%N rises (iota 0 b) j ji.
  by rewrite nth_iota ?add0n ?(leq_trans ji)// /rises jn /= leNgt => ->.
have high : (i < b)%N -> rises i.
  move=> lt; have h : has rises (iota 0 b) by rewrite has_find size_iota.
  by have := nth_find 0%N h; rewrite nth_iota.
pose s := (l0 + i)%N; pose p := (s %% b)%N; pose q := (s %/ b)%N.
have pb : (p < b)%N by rewrite ltn_mod.
have sE : s = (q * b + p)%N by exact: divn_eq.
have tb : (0 < p.+1 <= b)%N by [].
(* steps_by is the whole number m with l - p <= m b < l - p + b *)
have ceil l : exists m, [/\ steps_by p.+1 l = m, (l <= m * b + p)%N & (m * b + p < l + b)%N].
  exists (steps_by p.+1 l); split=> //; rewrite (steps_byE l tb).
    have := divn_eq (l + (b - p.+1)) b; have := ltn_pmod (l + (b - p.+1)) b_gt0; lia.
  have := divn_eq (l + (b - p.+1)) b; lia.
exists p.+1, (k l0 - q%:Z); split=> // l.
  move=> ll; have [m [-> m1 m2]] := ceil l.
  have mq : (m <= q)%N.
    rewrite leqNgt; apply/negP => qm; have := leq_mul qm (leqnn b); rewrite mulSn; lia.
  have qmb : (q * b = (q - m) * b + m * b)%N by rewrite -mulnDl subnK.
  suff : k l0 <= k l + (q - m)%N%:Z by lia.
  case: (ltnP i b) => lt.
    have /andP[n1 k1] := high lt.
    have : k (l0 + i.+1)%N <= k l + (q - m).+1%:Z by apply: climb; rewrite ?mulSn; lia.
    by lia.
  by apply: climb; lia.
case/andP=> l0l ln; have [m [-> m1 m2]] := ceil l.
case: (leqP l s) => ls.
  have mq : (q <= m)%N.
    rewrite leqNgt; apply/negP => qm; have := leq_mul qm (leqnn b); rewrite mulSn; lia.
  have : k l <= k l0 by rewrite -(subnKC (ltnW l0l)); apply: low; lia.
  by lia.
have mq : (q <= m)%N.
  rewrite leqNgt; apply/negP => qm; have := leq_mul qm (leqnn b); rewrite mulSn; lia.
have qmb : (m * b = (m - q) * b + q * b)%N by rewrite -mulnDl subnK.
have ks : k s <= k l0.
  case: (posnP i) => [i0|i0]; first by rewrite /s i0 addn0.
  by apply: low; lia.
have : k l <= k s + (m - q)%N%:Z by apply: climb; lia.
by lia.
Qed.
End Whole.

(* What the sum of a whole number and a bit may change by *)
Lemma whole_and_bit (i j : int) (u v : bool) : i <= j \/ i = j + 1 /\ (u ==> v) -> - (j + v%:Z) <= - (i + u%:Z) + 1.
Proof. by case: u v => -[]; case=> [|[-> //=]]; lia. Qed.

(* Weights of distances that change by at most exp(epsilon) over b distances are a mixture of such with whole exponents *)
Section Rounding.
Variables (R : realType) (epsilon : R) (n b : nat) (O : finType) (far : O -> nat) (worth : O -> R) (r : nat -> R).
Hypothesis epsilon_gt0 : 0 < epsilon.
Hypothesis far_le : forall o, (far o <= n)%N.
Hypothesis r_gt0 : forall l, (l <= n)%N -> 0 < r l.
Hypothesis r_slow : forall i j, (i <= n)%N -> (j <= n)%N -> (i <= j + b)%N -> (j <= i + b)%N -> r i <= expR epsilon * r j.

Lemma whole_exponents : \sum_o worth o * r (far o) <= 0 ->
  exists k : nat -> int,
    (forall i j, (i <= n)%N -> (j <= n)%N -> (i <= j + b)%N -> (j <= i + b)%N -> k i <= k j + 1) /\
    \sum_o worth o * expR (- (epsilon * (k (far o))%:~R)) <= 0.
Proof.
have e1 : 0 < expR epsilon - 1 by rewrite subr_gt0 expR_gt1.
pose rho l := ln (r l) / epsilon.
have rhoE l : (l <= n)%N -> expR (epsilon * rho l) = r l.
  by move=> ln; rewrite /rho mulrCA divff ?gt_eqF// mulr1 lnK// posrE r_gt0.
pose m l : int := floor (rho l).
pose rest l := rho l - (m l)%:~R.
have rest0 l : 0 <= rest l by rewrite subr_ge0 floor_le.
have rest1 l : rest l < 1 by rewrite ltr_subl_addl; exact: lt_succ_floor.
pose y l := (expR (epsilon * rest l) - 1) / (expR epsilon - 1).
have y01 l : 0 <= y l <= 1.
  rewrite divr_ge0 ?(ltW e1) ?subr_ge0//=; last by rewrite -[leLHS]expR0 ler_expR mulr_ge0// ltW.
  by rewrite ler_pdivr_mulr// mul1r ler_add2r ler_expR ler_pimulr ?(ltW epsilon_gt0) ?(ltW (rest1 l)).
have rE d : (d <= n)%N -> r d = expR (epsilon * (m d)%:~R) * (1 + (expR epsilon - 1) * y d).
  move=> dn; have -> : 1 + (expR epsilon - 1) * y d = expR (epsilon * rest d).
    by rewrite /y; field; rewrite gt_eqF.
  by rewrite -expRD -mulrDr /rest addrC subrK rhoE.
pose c o := worth o * expR (epsilon * (m (far o))%:~R).
move=> h; have [||x] := @layers R O (fun o => c o * (expR epsilon - 1)) (fun o => y (far o)) (\sum_o c o).
- by move=> o; exact: y01.
- apply: le_trans h; rewrite -big_split /= le_eqVlt; apply/orP; left; apply/eqP.
  by apply: eq_bigr => o _; rewrite rE// /c; ring.
rewrite -big_split /= => hx.
exists (fun l => - (m l + (x < y l)%R%:Z)); split=> [i j i_n jn ij ji|].
  have rj : rho j <= rho i + 1.
    rewrite -(ler_pmul2l epsilon_gt0) -ler_expR rhoE// mulrDr mulr1 expRD rhoE// mulrC.
    exact: r_slow.
  have mj : m j <= m i + 1.
    rewrite -ltz_addr1 -(ltr_int R) !intrD; apply: le_lt_trans (floor_le _) _.
    by apply: le_lt_trans rj _; rewrite ltr_add2r; exact: lt_succ_floor.
  apply: whole_and_bit; have [lt|gt] := leP (m j) (m i); [by left|right].
  have e : m j = m i + 1 by apply/eqP; rewrite eq_le mj lez_addr1.
  have rests : rest j <= rest i by rewrite /rest e intrD opprD addrA addrAC ler_add2r ler_subl_addr.
  split; [by []|apply/implyP => /lt_le_trans; apply].
  have exps : expR (epsilon * rest j) <= expR (epsilon * rest i) by rewrite ler_expR; exact: ler_wpmul2l (ltW epsilon_gt0) _ _ rests.
  rewrite /y; apply: ler_wpmul2r; [by rewrite invr_ge0; exact: ltW|exact: ler_add exps (lexx _)].
apply: le_trans hx; rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => o _.
rewrite mulrNz mulrN opprK intrD mulrDr expRD /c; case: (x < _) => /=; last by rewrite !mulr0 expR0 addr0 mulr1.
by rewrite !mulr1; ring.
Qed.
End Rounding.

(* Maps of words that keep all distances take any pair of words to any pair at the same distance *)
Section Isometries.
Variables (A : finType) (n : nat).
Notation word := {ffun 'I_n -> A}.
Implicit Types (w v o : word) (g h : {perm word}).

Definition isometry g := [forall w, forall v, dist (g w) (g v) == dist w v].

Lemma isometryP g : reflect (forall w v, dist (g w) (g v) = dist w v) (isometry g).
Proof. by apply: (iffP forallP) => [h w v|h w]; [have /forallP/(_ v)/eqP := h w|apply/forallP => v; rewrite h]. Qed.

Lemma isometry_mul g h : isometry h -> isometry (h * g)%g = isometry g.
Proof.
move/isometryP => hi; apply/isometryP/isometryP => gi w v; last by rewrite !permM gi hi.
by have := gi (h^-1 w)%g (h^-1 v)%g; rewrite !permM !permKV => ->; rewrite -hi !permKV.
Qed.

Lemma perm_between (T : finType) (D D' : {set T}) : #|D| = #|D'| -> exists p : {perm T}, forall i, (p i \in D) = (i \in D').
Proof.
move=> DD'; pose s := enum D ++ enum (~: D); pose s' := enum D' ++ enum (~: D').
have cDD' : #|~: D| = #|~: D'| by apply/eqP; rewrite -(eqn_add2l #|D|) {2}DD' !cardsC.
have all_s' i : i \in s' by rewrite mem_cat !mem_enum inE; case: (i \in D').
have u : uniq s.
  rewrite cat_uniq !enum_uniq /= andbT; apply/hasP => -[i].
  by rewrite mem_enum inE => /negbTE h; rewrite /= mem_enum h.
have sz : size s' = size s by rewrite !size_cat -!cardE DD' cDD'.
pose f i := nth i s (index i s').
have f_inj : injective f.
  move=> i j; have si : (index i s' < size s)%N by rewrite -sz index_mem.
  have sj : (index j s' < size s)%N by rewrite -sz index_mem.
  rewrite /f (set_nth_default i j sj) => /eqP; rewrite nth_uniq// => /eqP e.
  by rewrite -(nth_index i (all_s' i)) e nth_index.
exists (perm f_inj) => i; rewrite permE /f /s /s' index_cat nth_cat -!cardE mem_enum.
case iD': (i \in D').
  have lt : (index i (enum D') < #|D|)%N by rewrite DD' cardE index_mem mem_enum.
  by rewrite lt -mem_enum mem_nth// -cardE.
have ge : (index i (enum (~: D')) < size (enum (~: D)))%N by rewrite -cardE cDD' cardE index_mem mem_enum inE iD'.
rewrite DD' ltnNge leq_addr /= addKn.
by have := mem_nth i ge; rewrite mem_enum inE => /negbTE.
Qed.

Lemma isometry_between w o w' o' : dist w o = dist w' o' -> exists h, [/\ isometry h, h w = w' & h o = o'].
Proof.
move=> d; have [p pD] := perm_between d.
pose turn (i : 'I_n) : {perm A} := (tperm (w (p i)) (w' i) * tperm (tperm (w (p i)) (w' i) (o (p i))) (o' i))%g.
pose f v : word := [ffun i => turn i (v (p i))].
have turn_w i : turn i (w (p i)) = w' i.
  have := pD i; rewrite !inE permM tpermL => e.
  have [same|other] := eqVneq (w' i) (o' i).
    move: e; rewrite same eqxx => /negbFE/eqP <-.
    by rewrite -same tpermL tperm1 perm1.
  rewrite other in e; have h : tperm (w (p i)) (w' i) (o (p i)) != w' i.
    by rewrite -[X in _ != X](tpermL (w (p i)) (w' i)) (inj_eq perm_inj) eq_sym.
  by rewrite tpermD// eq_sym.
have turn_o i : turn i (o (p i)) = o' i by rewrite permM tpermL.
have f_dist u v : dist (f u) (f v) = dist u v.
  rewrite /dist -!sum1_card [RHS](reindex_inj (@perm_inj _ p)); apply: eq_bigl => i.
  by rewrite !inE !ffunE (inj_eq perm_inj).
have f_inj : injective f by move=> u v e; apply/eqP; rewrite -dist_eq0 -f_dist e distxx.
exists (perm f_inj); split.
- by apply/isometryP => u v; rewrite !permE.
- by rewrite permE; apply/ffunP => i; rewrite ffunE turn_w.
- by rewrite permE; apply/ffunP => i; rewrite ffunE turn_o.
Qed.

Lemma sum_isometries (M : zmodType) (F : {perm word} -> M) h : isometry h ->
  \sum_(g | isometry g) F g = \sum_(g | isometry g) F (h * g)%g.
Proof. by move=> hi; rewrite (reindex_inj (mulgI h)); apply: eq_bigl => g; rewrite isometry_mul. Qed.
End Isometries.

Section Staircase.
Variables (R : realType) (A : finType) (n b : nat) (epsilon : R).
Notation word := {ffun 'I_n -> A}.
Implicit Types (w v o : word) (P : word -> word -> R).

Definition stair (t l : nat) : R := expR (- (epsilon * (steps_by b t l)%:R)).
Definition staircase (t : nat) : word -> word -> R := law_by_distance (stair t).

Definition private P := [/\ forall w o, 0 <= P w o, forall w, \sum_o P w o = 1 &
  forall w v, (dist w v <= b)%N -> loses_at_most epsilon (P w) (P v)].
Definition expected P w : R := \sum_o (dist w o)%:R * P w o.
Definition mean_expected P : R := (\sum_w expected P w) / #|{: word}|%:R.

Hypotheses (epsilon_gt0 : 0 < epsilon) (b_gt0 : (0 < b)%N) (two_symbols : (1 < #|A|)%N).

Lemma stair_gt0 t l : 0 < stair t l. Proof. exact: expR_gt0. Qed.

Lemma stair_slow t d d' : (0 < t <= b)%N -> (d' <= d + b)%N -> stair t d <= expR epsilon * stair t d'.
Proof.
move=> tb d'd; rewrite /stair -expRD ler_expR -subr_ge0.
have -> : epsilon + - (epsilon * (steps_by b t d')%:R) - - (epsilon * (steps_by b t d)%:R)
    = epsilon * ((steps_by b t d).+1%:R - (steps_by b t d')%:R) by rewrite [(steps_by b t d).+1%:R]mulrSr; ring.
rewrite mulr_ge0 ?(ltW epsilon_gt0)// subr_ge0 ler_nat !steps_byE//.
have h : (d' + (b - t) <= d + (b - t) + b)%N by lia.
by apply: leq_trans (leq_div2r b h) _; rewrite divnDr ?dvdnn// divnn b_gt0 addn1.
Qed.

Theorem staircase_private t : (0 < t <= b)%N -> private (staircase t) /\
  ((b <= n)%N -> exists w v, (dist w v <= b)%N /\ loses_exactly epsilon (staircase t w) (staircase t v)).
Proof.
move=> tb; have is_private : private (staircase t).
  split=> [w o|w|]; first by rewrite ltW// law_by_distance_gt0//; exact: stair_gt0.
    by apply: law_sum1; apply: normaliser_by_distance_gt0; exact: stair_gt0.
  by apply: tight_calibration_bound => [|d d' _ _ _ d'd]; [exact: stair_gt0|exact: stair_slow].
split=> // bn; have [w [v [o [wv E]]]] := tight_calibration_attained (stair_gt0 t) two_symbols (leq0n n) bn (leq0n _) (leqnn b).
have law0 u : 0 < staircase t u o by exact: law_by_distance_gt0 (stair_gt0 t) _ _.
exists w, v; split=> //; split; first by case: is_private => _ _; apply.
exists o => //; rewrite -[LHS](divfK (lt0r_neq0 (law0 v))); congr (_ * _).
rewrite {}E /stair !steps_byE// add0n divn_small; last by lia.
have -> : ((b + (b - t)) %/ b = 1)%N by rewrite divnDl ?dvdnn// divnn b_gt0 divn_small//; lia.
by rewrite mulr0 oppr0 expR0 div1r mulr1 -expRN opprK.
Qed.

Let Z t := normaliser (fun=> 1) (fun w o : word => stair t (dist w o)).

(* The expected distance of a staircase is below theta if the weighted sum of l - theta is *)
Lemma expected_staircase t theta w : \sum_o ((dist w o)%:R - theta) * stair t (dist w o) <= 0 ->
  forall v, expected (staircase t) v <= theta.
Proof.
move=> h v; have Z0 : 0 < Z t v by apply: normaliser_by_distance_gt0; exact: stair_gt0.
rewrite -(ler_pmul2r Z0) -subr_le0; apply: le_trans h; rewrite le_eqVlt; apply/orP; left; apply/eqP.
rewrite [RHS](sum_by_distance_constant (fun l => (l%:R - theta) * stair t l) w v).
rewrite /expected mulr_suml [theta * _]mulr_sumr -sumrB; apply: eq_bigr => o _.
by rewrite /staircase /law_by_distance /law -/(Z t v); field; rewrite gt_eqF.
Qed.

Section Optimal.
Variable P : word -> word -> R.
Hypothesis P_private : private P.

(* The sum over all isometries: it depends on the distance only *)
Let M w o : R := \sum_(g : {perm word} | isometry g) P (g w) (g o).
Let G : R := \sum_(g : {perm word} | isometry g) 1.

Lemma M_between w o w' o' : dist w o = dist w' o' -> M w o = M w' o'.
Proof.
case/isometry_between=> h [hi <- <-]; rewrite /M (sum_isometries _ hi).
by apply: eq_bigr => g _; rewrite !permM.
Qed.

Lemma G_gt0 : 0 < G.
Proof.
rewrite /G sumr_const -[0](mulr0n 1) ltr_nat; apply/card_gt0P; exists 1%g.
by rewrite unfold_in; apply/isometryP => w v; rewrite !perm1.
Qed.

Lemma M_sum w : \sum_o M w o = G.
Proof.
have [_ P1 _] := P_private; rewrite /M exchange_big; apply: eq_bigr => g _ /=.
by rewrite -(P1 (g w)) [RHS](reindex_inj (@perm_inj _ g)).
Qed.

Lemma M_expected w : \sum_o (dist w o)%:R * M w o = G * mean_expected P.
Proof.
have e v : \sum_o (dist v o)%:R * M v o = \sum_(g : {perm word} | isometry g) expected P (g v).
  rewrite /M; under eq_bigr do rewrite mulr_sumr.
  rewrite exchange_big; apply: eq_bigr => g /isometryP gi /=.
  by rewrite /expected [RHS](reindex_inj (@perm_inj _ g)); apply: eq_bigr => o _; rewrite gi.
have same v : \sum_o (dist v o)%:R * M v o = \sum_o (dist w o)%:R * M w o.
  have [h [hi hv _]] := @isometry_between _ _ v v w w (etrans (distxx v) (esym (distxx w))).
  by rewrite !e [LHS](sum_isometries _ hi); apply: eq_bigr => g _; rewrite permM hv.
have W0 : #|{: word}|%:R != 0 :> R by rewrite pnatr_eq0 -lt0n; apply/card_gt0P; exists w.
apply: (mulIf W0); rewrite /mean_expected -mulrA divfK//.
have -> : (\sum_o (dist w o)%:R * M w o) * #|{: word}|%:R = \sum_v \sum_o (dist v o)%:R * M v o.
  by rewrite (eq_bigr _ (fun v _ => same v)) sumr_const mulr_natr.
rewrite (eq_bigr _ (fun v _ => e v)) exchange_big /G mulr_suml; apply: eq_bigr => g _ /=.
by rewrite mul1r [RHS](reindex_inj (@perm_inj _ g)).
Qed.

Lemma M_slow w v o : (dist w v <= b)%N -> M w o <= expR epsilon * M v o.
Proof.
have [_ _ Pe] := P_private; move=> wv; rewrite mulr_sumr; apply: ler_sum => g /isometryP gi.
by apply: Pe; rewrite gi.
Qed.

Lemma weight_of_distance : exists r : nat -> R, [/\ forall l, (l <= n)%N -> 0 < r l, forall w o, M w o = r (dist w o) &
  forall i j, (i <= n)%N -> (j <= n)%N -> (i <= j + b)%N -> (j <= i + b)%N -> r i <= expR epsilon * r j].
Proof.
have [x [y [_ _ xy]]] := card_gt1P two_symbols.
pose other z := if z == x then y else x.
have ox z : other z != z by rewrite /other; case: ifP => [/eqP->|zx]; rewrite eq_sym// zx.
pose o : word := [ffun=> x]; pose at_ l := changed other o l.
have at0 : at_ 0%N = o by apply/ffunP => i; rewrite !ffunE.
have at_o l : (l <= n)%N -> dist (at_ l) o = l by move=> ln; rewrite distC -{1}at0 dist_changed// subn0.
pose r l := M (at_ l) o.
have rE w v : M w v = r (dist w v) by apply: M_between; rewrite at_o// dist_le.
have slow i j : (i <= n)%N -> (j <= n)%N -> (i <= j + b)%N -> (j <= i + b)%N -> r i <= expR epsilon * r j.
  move=> i_n jn ij ji; apply: M_slow; case: (leqP i j) => [le|/ltnW le]; first by rewrite dist_changed// leq_subLR.
  by rewrite distC dist_changed// leq_subLR.
exists r; split=> //.
have [P0 _ _] := P_private.
have r0 l : 0 <= r l by apply: sumr_ge0 => g _; exact: P0.
have keeps i j : (i <= n)%N -> (j <= n)%N -> (i <= j + b)%N -> (j <= i + b)%N -> 0 < r i -> 0 < r j.
  by move=> i_n jn ij ji /lt_le_trans/(_ (slow _ _ i_n jn ij ji)); rewrite pmulr_rgt0 ?expR_gt0.
have from0 l : (l <= n)%N -> (0 < r l) = (0 < r 0%N).
  elim: l => // l IH ln; rewrite -(IH (ltnW ln)); apply/idP/idP; apply: keeps; lia.
suff r00 : 0 < r 0%N by move=> l ln; rewrite from0.
have : 0 < \sum_v M o v by rewrite M_sum G_gt0.
rewrite lt_neqAle eq_sym => /andP[/negP h _]; rewrite lt_neqAle r0 andbT eq_sym; apply/negP => r00; apply: h.
apply/eqP/big1 => v _; rewrite rE; apply/eqP.
by have := from0 _ (dist_le o v); rewrite !lt_neqAle !r0 !andbT [0 == r 0%N]eq_sym r00 eq_sym => /negbFE.
Qed.

Lemma mean_expected_ge0 : 0 <= mean_expected P.
Proof.
have [P0 _ _] := P_private.
by rewrite divr_ge0 ?ler0n// sumr_ge0// => w _; apply: sumr_ge0 => o _; rewrite mulr_ge0 ?ler0n.
Qed.

Theorem staircase_optimal : exists2 t, (0 < t <= b)%N & forall w, expected (staircase t) w <= mean_expected P.
Proof.
have [r [r0 rE slow]] := weight_of_distance.
have [x _] := card_gt0P (ltnW two_symbols); pose w0 : word := [ffun=> x].
set theta := mean_expected P; have theta0 : 0 <= theta := mean_expected_ge0.
have sum0 : \sum_o ((dist w0 o)%:R - theta) * r (dist w0 o) <= 0.
  rewrite (eq_bigr (fun o => (dist w0 o)%:R * M w0 o - theta * M w0 o)); last by move=> o _; rewrite -rE mulrBl.
  by rewrite sumrB M_expected -mulr_sumr M_sum mulrC subrr.
have [k [k_slow sumk]] := whole_exponents epsilon_gt0 (dist_le w0) r0 slow sum0.
(* l0 is the largest distance that is at most theta *)
have ex : exists l, (l <= n)%N && (l%:R <= theta) by exists 0%N; rewrite leq0n.
have [l0 /andP[l0n l0t] l0max] := ex_maxnP ex (fun l h => proj1 (andP h)).
have [t [base [tb below beyond]]] := staircase_between b_gt0 k_slow l0n.
exists t => // w; apply: (@expected_staircase _ _ w0).
have E (l : nat) : stair t l = expR (epsilon * base%:~R) * expR (- (epsilon * (base + (steps_by b t l)%:Z)%:~R)).
  by rewrite /stair -expRD intrD; congr expR; rewrite -[(steps_by b t l)%:~R]/((steps_by b t l)%:R); ring.
under eq_bigr do rewrite E mulrCA.
rewrite -mulr_sumr pmulr_rle0 ?expR_gt0//; apply: le_trans sumk; apply: ler_sum => o _.
have mono (i j : int) : i <= j -> expR (- (epsilon * j%:~R)) <= expR (- (epsilon * i%:~R)).
  by move=> ij; rewrite ler_expR ler_opp2 ler_pmul2l// ler_int.
case: (leqP (dist w0 o) l0) => d.
  rewrite ler_wnmul2l ?mono ?below// subr_le0; apply: le_trans l0t; by rewrite ler_nat.
rewrite ler_wpmul2l ?mono ?beyond ?d ?dist_le// subr_ge0 ltW// ltNge; apply/negP => dt.
by have := l0max (dist w0 o); rewrite dist_le dt => /(_ isT); rewrite leqNgt d.
Qed.

Corollary staircase_optimal_worst theta : (forall w, expected P w <= theta) ->
  exists2 t, (0 < t <= b)%N & forall w, expected (staircase t) w <= theta.
Proof.
move=> h; have [t tb ht] := staircase_optimal; exists t => // w; apply: le_trans (ht w) _.
have W0 : (0 < #|{: word}|)%N by apply/card_gt0P; exists w.
rewrite ler_pdivr_mulr ?ltr0n// mulr_natr -sumr_const; exact: ler_sum.
Qed.
End Optimal.
End Staircase.
