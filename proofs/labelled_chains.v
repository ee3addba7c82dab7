(* Labelled Markov chains (docs/theory/chains-and-opacity.md).

   States are a finite type, mu s the transition probabilities, label s what an observer of a run sees. ratio >= 1 stands for
   e^epsilon. A distance d with values in [0,1] is a certificate (above_gamma) if Gamma(d) <= d: d is 1 where labels differ, and elsewhere
   sum (mu s i - ratio mu s' i) f i <= d(s,s') for every f in [0,1] with f i - ratio f j <= d(i,j).

   certificate_bounds_delta: then d(s,s') bounds P_s(E) - ratio P_s'(E) for every event E about finitely many labels. The least certificate is
     ld (least_distance.v), so ld bounds delta (C19, Theorem 17).
   refutation_by_words: a list of label words of one length whose chances, added up, have P_s - ratio P_s' above delta refutes
     delta. Their chances are those of the forward recursion over the chain (word_chance; seen_words: it is what `seen` says).
   ld_is_lgd: with the kernel (where ld is 0) held at 0 the operator has no fixed point above ld. Stated for any monotone and
     concave operator on non-negative functions on a finite set, with a least certificate ld that is a fixed point. The proof needs
     neither continuity nor powers of the operator: with t lgd <= ld, what is left of ld, y = (ld - t lgd) / (1-t), is a certificate
     by concavity, so ld <= y, and that is lgd <= ld.

   That Gamma is such an operator is in least_distance.v. Not part of these files: events about infinitely many labels (they are limits
   of finite ones), and how a certificate is computed. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Chains.
Variables (R : realFieldType) (S : finType) (B : finType) (label : S -> B) (mu : S -> S -> R) (ratio : R).
Hypothesis mu_ge0 : forall s i, 0 <= mu s i.
Hypothesis mu_sum1 : forall s, \sum_i mu s i = 1.
Hypothesis ratio_ge1 : 1 <= ratio.
Let ratio_ge0 : 0 <= ratio. Proof. exact: le_trans ler01 ratio_ge1. Qed.

(* The probability that the first T labels from s are in the event E *)
Fixpoint seen (T : nat) (s : S) (E : seq B -> bool) : R :=
  if T is T'.+1 then \sum_i mu s i * seen T' i (fun u => E (label s :: u)) else (E [::])%:R.

Definition feasible (d : S -> S -> R) (f : S -> R) :=
  (forall i, 0 <= f i <= 1) /\ forall i j, f i - ratio * f j <= d i j.

(* Gamma(d)(s,s') <= x *)
Definition gamma_at_most (d : S -> S -> R) (s s' : S) (x : R) :=
  if label s == label s' then forall f, feasible d f -> \sum_i (mu s i - ratio * mu s' i) * f i <= x else 1 <= x.

Definition certificate (d : S -> S -> R) := (forall s s', 0 <= d s s') /\ forall s s', gamma_at_most d s s' (d s s').

Lemma seen_bounds T s E : 0 <= seen T s E <= 1.
Proof.
elim: T s E => [|T IH] s E /=; first by case: (E _); rewrite ?lexx ?ler01.
apply/andP; split; first by apply: sumr_ge0 => i _; rewrite mulr_ge0//; case/andP: (IH i (fun u => E (label s :: u))).
rewrite -[leRHS](mu_sum1 s); apply: ler_sum => i _.
by rewrite ler_pimulr//; case/andP: (IH i (fun u => E (label s :: u))).
Qed.

Lemma eq_seen T s E F : E =1 F -> seen T s E = seen T s F.
Proof. by elim: T s E F => [|T IH] s E F EF /=; rewrite ?EF//; apply: eq_bigr => i _; congr (_ * _); apply: IH => u. Qed.

Lemma seenD T s (E F G : seq B -> bool) : (forall u, (E u)%:R = (F u)%:R + (G u)%:R :> R) -> seen T s E = seen T s F + seen T s G.
Proof.
elim: T s E F G => [|T IH] s E F G EFG /=; first exact: EFG.
by rewrite -big_split; apply: eq_bigr => i _ /=; rewrite -mulrDr; congr (_ * _); apply: IH.
Qed.

Lemma seen_none T s : seen T s (fun=> false) = 0.
Proof. by elim: T s => //= T IH s; apply: big1 => i _; rewrite IH mulr0. Qed.

Theorem certificate_bounds_delta (d : S -> S -> R) : certificate d ->
  forall T s s' E, (0 < T)%N -> seen T s E - ratio * seen T s' E <= d s s'.
Proof.
move=> [d0 dG] T s s' E; case: T => // T _.
have one_sided x y T' (F F' : seq B -> bool) : label x != label y -> seen T' x F - ratio * seen T' y F' <= d x y.
  move=> xy; have := dG x y; rewrite /gamma_at_most (negbTE xy); apply: le_trans.
  have /andP[_ a] := seen_bounds T' x F; have /andP[b _] := seen_bounds T' y F'.
  by rewrite ler_subl_addr (le_trans a)// ler_addl mulr_ge0.
elim: T s s' E => [|T IH] s s' E; have [ll|] := eqVneq (label s) (label s'); try exact: one_sided.
  have := dG s s'; rewrite /gamma_at_most ll eqxx => /(_ (fun=> (E [:: label s'])%:R)) h.
  have -> : seen 1 s E = (E [:: label s'])%:R by rewrite /= ll -mulr_suml mu_sum1 mul1r.
  have -> : seen 1 s' E = (E [:: label s'])%:R by rewrite /= -mulr_suml mu_sum1 mul1r.
  have e : (E [:: label s'])%:R - ratio * (E [:: label s'])%:R
      = \sum_i (mu s i - ratio * mu s' i) * (E [:: label s'])%:R.
    by rewrite -mulr_suml sumrB -mulr_sumr !mu_sum1 mulr1 mulrBl mul1r.
  rewrite e; apply: h; split=> [i|i k]; first by case: (E _); rewrite ?lexx ?ler01.
  by apply: le_trans (d0 i k); case: (E _); rewrite ?mulr1 ?mulr0 ?subr0 ?lexx// subr_le0.
have := dG s s'; rewrite /gamma_at_most ll eqxx => /(_ (fun i => seen T.+1 i (fun u => E (label s' :: u)))).
have -> : seen T.+2 s E - ratio * seen T.+2 s' E
    = \sum_i (mu s i - ratio * mu s' i) * seen T.+1 i (fun u => E (label s' :: u)).
  rewrite -[seen T.+2 s E]/(\sum_i mu s i * seen T.+1 i (fun u => E (label s :: u))) ll.
  rewrite -[seen T.+2 s' E]/(\sum_i mu s' i * seen T.+1 i (fun u => E (label s' :: u))).
  by rewrite mulr_sumr -sumrB; apply: eq_bigr => i _; ring.
by apply; split=> [i|i k]; [exact: seen_bounds|exact: IH].
Qed.

(* The probability that the first labels from s are the word u, by the forward recursion *)
Fixpoint word_chance (u : seq B) (s : S) : R :=
  if u is b :: v then (label s == b)%:R * \sum_i mu s i * word_chance v i else 1.

Lemma seen_word (u : seq B) s : seen (size u) s (pred1 u) = word_chance u s.
Proof.
elim: u s => [|b u IH] s //=; rewrite mulr_sumr; apply: eq_bigr => i _; rewrite mulrCA; congr (_ * _).
have [<-|lb] := eqVneq (label s) b.
  by rewrite mul1r -IH; apply: eq_seen => v; rewrite /= eqseq_cons eqxx.
rewrite mul0r -(seen_none (size u) i); apply: eq_seen => v.
by rewrite /= eqseq_cons (negbTE lb).
Qed.

Lemma seen_words (T : nat) (us : seq (seq B)) s : uniq us -> all (fun u => size u == T) us ->
  seen T s (mem us) = \sum_(u <- us) word_chance u s.
Proof.
elim: us => [|u us IH] /=; first by move=> _ _; rewrite big_nil -(seen_none T s); apply: eq_seen.
case/andP=> un uniq_us /andP[/eqP uT all_us]; rewrite big_cons -IH// -seen_word uT; apply: seenD => v.
by rewrite /= in_cons; case: (v =P u) => [->|_] /=; rewrite ?(negbTE un) ?addr0 ?add0r.
Qed.

(* delta bounds all events about T labels only if it bounds every set of label words of length T *)
Theorem refutation_by_words (T : nat) (s s' : S) (delta : R) (us : seq (seq B)) :
  uniq us -> all (fun u => size u == T) us ->
  delta < \sum_(u <- us) (word_chance u s - ratio * word_chance u s') ->
  ~ (forall E, seen T s E <= ratio * seen T s' E + delta).
Proof.
move=> us1 usT; rewrite sumrB -mulr_sumr -!(seen_words _ us1 usT) => h /(_ (mem us)).
by rewrite -ler_subl_addl leNgt h.
Qed.
End Chains.

Lemma prod_le1 (R : realFieldType) (I : finType) (P : pred I) (u : I -> R) : (forall i, 0 < u i <= 1) -> 0 < \prod_(i | P i) u i <= 1.
Proof.
move=> h; apply: (big_ind (fun x => 0 < x <= 1)) => [|x y /andP[x0 x1] /andP[y0 y1]|i _]; first by rewrite ltr01 lexx.
  by rewrite mulr_gt0//= mulr_ile1 ?(ltW x0) ?(ltW y0).
exact: h.
Qed.

Section OneFixedPoint.
Variables (R : realFieldType) (I : finType).
Implicit Types x y : I -> R.
Notation "x <=. y" := (forall i, x i <= y i) (at level 70).
Variable gamma : (I -> R) -> I -> R.
Hypothesis monotone : forall x y, (forall i, 0 <= x i) -> x <=. y -> gamma x <=. gamma y.
Hypothesis concave : forall t x y, 0 <= t <= 1 -> (forall i, 0 <= x i) -> (forall i, 0 <= y i) ->
  forall i, t * gamma x i + (1 - t) * gamma y i <= gamma (fun i => t * x i + (1 - t) * y i) i.

(* ld is the least certificate, and a fixed point; the kernel is where it is 0 *)
Variable ld : I -> R.
Hypothesis ld_ge0 : forall i, 0 <= ld i.
Hypothesis ld_fixed : forall i, gamma ld i = ld i.
Hypothesis ld_least : forall x, (forall i, 0 <= x i) -> gamma x <=. x -> ld <=. x.

Definition held x (i : I) : R := if ld i == 0 then 0 else gamma x i.

Theorem ld_is_lgd (lgd : I -> R) : (forall i, 0 <= lgd i) -> (forall i, held lgd i = lgd i) -> lgd <=. ld.
Proof.
move=> lgd0 fixed.
have kernel i : ld i = 0 -> lgd i = 0 by move=> l0; rewrite -fixed /held l0 eqxx.
(* Some t in (0,1) has t lgd <= ld *)
have [t t01 tl] : exists2 t, 0 < t < 1 & forall i, t * lgd i <= ld i.
  pose u i : R := if ld i == 0 then 1 else ld i / (ld i + lgd i).
  have u0 i : 0 < u i.
    rewrite /u; case: eqVneq => l0; first exact: ltr01.
    have p : 0 < ld i by rewrite lt_neqAle eq_sym l0 ld_ge0.
    by rewrite divr_gt0// ltr_paddr.
  have u1 i : u i <= 1.
    rewrite /u; case: eqVneq => l0; first exact: lexx.
    have p : 0 < ld i by rewrite lt_neqAle eq_sym l0 ld_ge0.
    by rewrite ler_pdivr_mulr ?ltr_paddr// mul1r ler_addl.
  have u01 i : 0 < u i <= 1 by rewrite u0 u1.
  have /andP[p0 p1] := prod_le1 xpredT u01.
  have ple i : \prod_i u i <= u i.
    have /andP[_ h] := prod_le1 (fun j => j != i) u01.
    by rewrite (bigD1 i)//= ler_pimulr// ltW.
  exists ((\prod_i u i) / 2).
    rewrite divr_gt0 ?ltr0n//= ltr_pdivr_mulr ?ltr0n// mul1r.
    by apply: le_lt_trans p1 _; rewrite ltr1n.
  move=> i; apply: (@le_trans _ _ (u i * lgd i)).
    rewrite ler_wpmul2r// ler_pdivr_mulr ?ltr0n//; apply: le_trans (ple i) _.
    by rewrite ler_pemulr ?(ltW (u0 i))// ler1n.
  rewrite /u; case: eqVneq => l0; first by rewrite kernel// mulr0 l0.
  have p : 0 < ld i by rewrite lt_neqAle eq_sym l0 ld_ge0.
  rewrite mulrAC ler_pdivr_mulr ?ltr_paddr// ler_wpmul2l ?(ltW p)//.
  by rewrite ler_addr.
have /andP[t0 t1] := t01.
have t1' : 0 < 1 - t by rewrite subr_gt0.
(* y is what is left of ld: ld = t lgd + (1-t) y *)
pose y i := (ld i - t * lgd i) / (1 - t).
have y0 i : 0 <= y i by rewrite divr_ge0 ?subr_ge0 ?(ltW t1).
have split_ld i : t * lgd i + (1 - t) * y i = ld i.
  by rewrite /y mulrCA divff ?gt_eqF// mulr1 addrCA subrr addr0.
(* min(y, ld) is a certificate, so ld <= y *)
pose m i := Num.min (y i) (ld i).
have m0 i : 0 <= m i by rewrite le_minr y0 ld_ge0.
have m_ld i : m i <= ld i by rewrite le_minl lexx orbT.
have m_y i : m i <= y i by rewrite le_minl lexx.
have gamma_y i : ld i != 0 -> gamma y i <= y i.
  move=> li; have t01' : 0 <= t <= 1 by rewrite !ltW.
  have h := concave t01' lgd0 y0 i.
  have e : gamma (fun i => t * lgd i + (1 - t) * y i) i <= ld i.
    rewrite -[leRHS]ld_fixed; apply: monotone => j; rewrite split_ld ?lexx//; exact: ld_ge0.
  have g : gamma lgd i = lgd i by rewrite -[RHS]fixed /held (negbTE li).
  move: (le_trans h e); rewrite g -(split_ld i) ler_add2l.
  by rewrite ler_pmul2l.
have ld_y i : ld i <= y i.
  apply: le_trans (m_y i); apply: ld_least => // j.
  have [l0|l0] := eqVneq (ld j) 0.
    apply: (@le_trans _ _ (gamma ld j)); first exact: monotone m0 m_ld _.
    by rewrite ld_fixed l0 m0.
  rewrite le_minr (le_trans (monotone m0 m_y j) (gamma_y j l0))/= -[leRHS]ld_fixed.
  exact: monotone m0 m_ld _.
move=> i; have h : t * lgd i + (1 - t) * ld i <= ld i.
  by rewrite -[leRHS]split_ld ler_add2l ler_pmul2l.
rewrite -(ler_pmul2l t0); rewrite -subr_ge0 in h; rewrite -subr_ge0.
by rewrite (_ : _ - _ = ld i - (t * lgd i + (1 - t) * ld i))//; ring.
Qed.
End OneFixedPoint.
