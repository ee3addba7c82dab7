(* Detours add up (docs/theory/beyond-b.md; docs/theory/certificates.md, Lemma 5).

   The words of length n that a deterministic model accepts: it starts in state start, reading symbol a at position i
   takes it from state q to next i q a, and it accepts where the last state does. A chain, an automaton and a layered
   graph are of this form; what cannot go on is a state from which nothing is accepted.

   Two accepted words w and v may be cut where both are in the same state. Between consecutive cuts lies a piece; the
   words change from w to v piece by piece (mixed w v k: the first k symbols of v, the rest of w), and every word on the
   way is accepted (mixed_accepted).

   detours_add_up: for cuts 0 = k_0 <= k_1 <= ... <= k_m = n the loss of w and v is at most the sum of the losses of the pieces,
     each between two accepted words that differ in that piece only, and the numbers of differing symbols add up to
     dist w v. (Pieces in which w and v agree have two equal words and lose nothing.)
   graceful_by_detours: if any two accepted words with one detour lose at most rho times the number of symbols in which they
     differ, any two accepted words do. A detour lies between two positions, the words agree outside, and their states
     agree at both ends and nowhere between.

   The loss is that of any mechanism, in one direction; both directions are two applications. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From symveil Require Import loss hamming_words group_privacy.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Detours.
Variables (A : finType) (n : nat) (Q : eqType) (start : Q) (next : nat -> Q -> A -> Q) (accepting : pred Q).
Notation word := {ffun 'I_n -> A}.
Implicit Types w v : word.

(* The state before position k *)
Fixpoint state (w : word) (k : nat) : Q :=
  if k is k'.+1 then if insub k' is Some i then next k' (state w k') (w i) else state w k' else start.

Definition accepted w := accepting (state w n).
Definition mixed w v k : word := [ffun i : 'I_n => if (i < k)%N then v i else w i].

Lemma state_eq w v k k' : (k <= k')%N -> state w k = state v k ->
  (forall i : 'I_n, (k <= i < k')%N -> w i = v i) -> state w k' = state v k'.
Proof.
elim: k' => [|k' IH]; first by rewrite leqn0 => /eqP->.
rewrite leq_eqVlt => /predU1P[->//|kk'] s wv /=.
have s' : state w k' = state v k'.
  by apply: IH => // i /andP[ki ik']; apply: wv; rewrite ki ltnW.
by case: insubP => // i _ ik'; rewrite s' wv// ik' -ltnS kk' ltnS leqnn.
Qed.

Lemma mixed0 w v : mixed w v 0 = w. Proof. by apply/ffunP => i; rewrite ffunE. Qed.
Lemma mixedn w v : mixed w v n = v. Proof. by apply/ffunP => i; rewrite ffunE ltn_ord. Qed.

Lemma state_mixed_before w v k j : (j <= k)%N -> state (mixed w v k) j = state v j.
Proof. by move=> jk; apply: (@state_eq _ _ 0) => // i /= ij; rewrite ffunE (leq_trans ij jk). Qed.

Lemma state_mixed w v k j : state w k = state v k ->
  state (mixed w v k) j = if (j < k)%N then state v j else state w j.
Proof.
move=> s; case: ltnP => kj; first exact: state_mixed_before (ltnW kj).
apply: (@state_eq _ _ k) => //; first by rewrite state_mixed_before.
by move=> i /andP[ki _]; rewrite ffunE ltnNge ki.
Qed.

Lemma mixed_accepted w v k : accepted w -> accepted v -> state w k = state v k -> accepted (mixed w v k).
Proof. by rewrite /accepted => aw av s; rewrite state_mixed//; case: ifP. Qed.

Lemma dist_mixed w v k k' : (k <= k')%N ->
  dist (mixed w v k) (mixed w v k') = #|[set i : 'I_n | (k <= i < k')%N && (w i != v i)]|.
Proof.
move=> kk'; apply: eq_card => i; rewrite !inE !ffunE.
by case: (ltnP i k) => [ik|ki]; [rewrite (leq_trans ik kk') eqxx|case: ifP; rewrite ?eqxx].
Qed.

Lemma dist_mixed_add w v k k' k'' : (k <= k')%N -> (k' <= k'')%N ->
  (dist (mixed w v k) (mixed w v k') + dist (mixed w v k') (mixed w v k'') = dist (mixed w v k) (mixed w v k''))%N.
Proof.
move=> kk' kk''; rewrite !dist_mixed// ?(leq_trans kk')//.
rewrite -cardsUI (_ : _ :&: _ = set0) ?cards0 ?addn0; last first.
  apply/setP => i; rewrite !inE; apply/negP.
  by move=> /andP[/andP[/andP[_ a] _] /andP[/andP[b _] _]]; rewrite ltnNge b in a.
apply: eq_card => i; rewrite !inE -andb_orl; congr (_ && _).
case: (ltnP i k') => ik' /=; first by rewrite andbT orbF (leq_trans ik' kk'') andbT.
by rewrite andbF (leq_trans kk' ik').
Qed.

Variables (R : realType) (O : Type) (P : word -> O -> R).

(* Sorted cuts from k on, at each of which w and v are in the same state; the last one is the end *)
Fixpoint cuts w v (k : nat) (ks : seq nat) : Prop :=
  if ks is k' :: rest then [/\ (k <= k')%N, state w k' = state v k' \/ k' = n & cuts w v k' rest] else k = n.

Fixpoint total w v (loss : word -> word -> R) (k : nat) (ks : seq nat) : R :=
  if ks is k' :: rest then loss (mixed w v k) (mixed w v k') + total w v loss k' rest else 0.

Fixpoint differences w v (k : nat) (ks : seq nat) : nat :=
  if ks is k' :: rest then dist (mixed w v k) (mixed w v k') + differences w v k' rest else 0.

Lemma detours_from (loss : word -> word -> R) w v k ks :
  accepted w -> accepted v -> state w k = state v k \/ k = n -> cuts w v k ks ->
  (forall w v : word, accepted w -> accepted v -> loses_at_most (loss w v) (P w) (P v)) ->
  loses_at_most (total w v loss k ks) (P (mixed w v k)) (P v) /\ differences w v k ks = dist (mixed w v k) v.
Proof.
move=> aw av sk + h; elim: ks k sk => [|k' ks IH] k sk /=.
  by move=> ->; rewrite mixedn distxx; split=> // o; rewrite expR0 mul1r.
have acc j : state w j = state v j \/ j = n -> accepted (mixed w v j).
  by case=> [|->]; [exact: mixed_accepted|rewrite mixedn].
move=> [kk' sk' c]; have [l d] := IH k' sk' c; split.
  by apply: loss_triangle l; apply: h; apply: acc.
have k'n : (k' <= n)%N.
  by elim: ks k' c {IH l d kk' sk'} => [|j ks IH] k' /= => [->//|[kj _ /IH]]; apply: leq_trans.
by rewrite d; have := dist_mixed_add w v kk' k'n; rewrite mixedn.
Qed.

Theorem detours_add_up (loss : word -> word -> R) (w v : word) (ks : seq nat) :
  accepted w -> accepted v -> cuts w v 0 ks ->
  (forall w v : word, accepted w -> accepted v -> loses_at_most (loss w v) (P w) (P v)) ->
  loses_at_most (total w v loss 0 ks) (P w) (P v) /\ differences w v 0 ks = dist w v.
Proof.
move=> aw av c h; have := @detours_from loss w v 0 ks aw av (or_introl erefl) c h.
by rewrite mixed0.
Qed.

(* Different words that agree outside the positions k ... k'-1; their states agree at both ends and nowhere between *)
Definition one_detour w v := w <> v /\ exists k k', [/\ (k < k' <= n)%N,
  (forall i : 'I_n, ~~ (k <= i < k')%N -> w i = v i), state w k = state v k,
  state w k' = state v k' \/ k' = n & forall j, (k < j < k')%N -> state w j <> state v j].

Theorem graceful_by_detours (rho : R) :
  (forall w v, accepted w -> accepted v -> one_detour w v -> loses_at_most (rho * (dist w v)%:R) (P w) (P v)) ->
  forall w v, accepted w -> accepted v -> loses_at_most (rho * (dist w v)%:R) (P w) (P v).
Proof.
move=> h w v aw av.
suff H m k : (k + m = n)%N -> state w k = state v k ->
    loses_at_most (rho * (dist (mixed w v k) v)%:R) (P (mixed w v k)) (P v).
  by have := H n 0%N (add0n n) erefl; rewrite mixed0.
elim/ltn_ind: m k => m IH k km sk.
have refl u : loses_at_most (rho * (dist u u)%:R) (P u) (P u).
  by move=> o; rewrite distxx mulr0 expR0 mul1r.
case: (posnP m) => [m0|m0].
  by move: km; rewrite m0 addn0 => ->; rewrite mixedn; exact: refl.
pose cut j := (k < j)%N && ((state w j == state v j) || (j == n)).
have kn : (k < n)%N by rewrite -km -[X in (X < _)%N]addn0 ltn_add2l.
have ex : exists j, cut j by exists n; rewrite /cut kn eqxx orbT.
case: (ex_minnP ex) => j /andP[kj sj] jmin.
have jn : (j <= n)%N by apply: jmin; rewrite /cut kn eqxx orbT.
have {}sj : state w j = state v j \/ j = n by case/orP: sj => /eqP; [left|right].
have accj : accepted (mixed w v j).
  by case: sj => [|->]; [exact: mixed_accepted|rewrite mixedn].
have acck : accepted (mixed w v k) by exact: mixed_accepted.
have split_dist : (dist (mixed w v k) (mixed w v j) + dist (mixed w v j) v = dist (mixed w v k) v)%N.
  by have := dist_mixed_add w v (ltnW kj) jn; rewrite mixedn.
rewrite -split_dist natrD mulrDr; apply: (@loss_triangle _ _ _ _ _ (mixed w v j)).
  have [->|wv] := eqVneq (mixed w v k) (mixed w v j); first exact: refl.
  apply: h => //; split; first exact/eqP.
  exists k, j; split=> //; first by rewrite kj.
  - move=> i ki; rewrite !ffunE; case: (ltnP i k) => [ik|ik]; first by rewrite (ltn_trans ik kj).
    by move: ki; rewrite ik /= => /negbTE->.
  - by rewrite !state_mixed_before// ltnW.
  - case: sj => [sj|]; last by right.
    by left; rewrite state_mixed// ltnNge (ltnW kj)/= state_mixed_before.
  - move=> i /andP[ki ij]; rewrite state_mixed// ltnNge (ltnW ki)/= state_mixed_before ?(ltnW ij)//.
    by move=> si; have := jmin i; rewrite /cut ki si eqxx => /(_ isT); rewrite leqNgt ij.
case: sj => [sj|->]; last by rewrite mixedn; exact: refl.
apply: (IH (n - j)%N) => //; last by rewrite subnKC.
by rewrite -(addKn k m) km ltn_sub2l.
Qed.

End Detours.
