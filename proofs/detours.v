(* Detours add up (docs/theory/certificates.md, Lemma 2.5).

   The words of length n that a deterministic model accepts: it starts in state start, reading symbol a at position i
   takes it from state q to next i q a, and it accepts where the last state does. A chain, an automaton and a layered
   graph are of this form; what cannot go on is a state from which nothing is accepted.

   Two accepted words w and v are cut where both are in the same state; they change from w to v piece by piece (mixed w v k: the first
   k symbols of v, the rest of w), and every word on the way is accepted (mixed_accepted).

   detours_add_up: let loss(w,v) bound the loss of any two accepted words with one detour. Then from any accepted word to any other
     there is a way over accepted words with one detour from each to the next, the numbers of symbols that they change add up to the
     distance, and the loss of the two words is at most the sum of the losses of the detours. A detour lies between two
     positions, the words agree outside, and their states agree at both ends (or the second is the end of the words) and nowhere between.
   graceful_by_detours: if any two accepted words with one detour lose at most rho times the number of symbols in which they
     differ, any two accepted words do.
   detour_is_block: where the state is the last symbol, as in a chain, a detour changes consecutive symbols, every one of them: it is a block.

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

(* Different words that agree outside the positions k ... k'-1; their states agree at both ends and nowhere between *)
Definition one_detour w v := w <> v /\ exists k k', [/\ (k < k' <= n)%N,
  (forall i : 'I_n, ~~ (k <= i < k')%N -> w i = v i), state w k = state v k,
  state w k' = state v k' \/ k' = n & forall j, (k < j < k')%N -> state w j <> state v j].

(* The words s are accepted, and from each to the next, starting with w, there is one detour *)
Fixpoint by_detours (w : word) (s : seq word) : Prop :=
  if s is u :: s' then [/\ accepted u, one_detour w u & by_detours u s'] else True.

Fixpoint along (f : word -> word -> R) (w : word) (s : seq word) : R :=
  if s is u :: s' then f w u + along f u s' else 0.

Theorem detours_add_up (loss : word -> word -> R) :
  (forall w v, accepted w -> accepted v -> one_detour w v -> loses_at_most (loss w v) (P w) (P v)) ->
  forall w v, accepted w -> accepted v -> exists s, [/\ by_detours w s, last w s = v,
    along (fun w v => (dist w v)%:R) w s = (dist w v)%:R & loses_at_most (along loss w s) (P w) (P v)].
Proof.
move=> h w v aw av.
pose good k s := [/\ by_detours (mixed w v k) s, last (mixed w v k) s = v,
  along (fun w v => (dist w v)%:R) (mixed w v k) s = (dist (mixed w v k) v)%:R &
  loses_at_most (along loss (mixed w v k) s) (P (mixed w v k)) (P v)].
have good_end : good n [::].
  by rewrite /good mixedn /= distxx; split=> // o; rewrite expR0 mul1r.
suff H m k : (k + m = n)%N -> state w k = state v k -> exists s, good k s.
  by have [s] := H n 0%N (add0n n) erefl; rewrite /good mixed0; exists s.
elim/ltn_ind: m k => m IH k km sk.
case: (posnP m) => [m0|m0]; first by exists [::]; move: km; rewrite m0 addn0 => ->.
pose cut j := (k < j)%N && ((state w j == state v j) || (j == n)).
have kn : (k < n)%N by rewrite -km -[X in (X < _)%N]addn0 ltn_add2l.
have ex : exists j, cut j by exists n; rewrite /cut kn eqxx orbT.
case: (ex_minnP ex) => j /andP[kj sj] jmin.
have jn : (j <= n)%N by apply: jmin; rewrite /cut kn eqxx orbT.
have {}sj : state w j = state v j \/ j = n by case/orP: sj => /eqP; [left|right].
have [s gs] : exists s, good j s.
  case: sj => [sj|->]; last by exists [::].
  by apply: (IH (n - j)%N) => //; [rewrite -(addKn k m) km ltn_sub2l|rewrite subnKC].
have [same|wv] := eqVneq (mixed w v k) (mixed w v j); first by exists s; rewrite /good same.
have accj : accepted (mixed w v j).
  by case: sj => [|->]; [exact: mixed_accepted|rewrite mixedn].
have acck : accepted (mixed w v k) by exact: mixed_accepted.
have detour : one_detour (mixed w v k) (mixed w v j).
  split; first exact/eqP.
  exists k, j; split=> //; first by rewrite kj.
  - move=> i ki; rewrite !ffunE; case: (ltnP i k) => [ik|ik]; first by rewrite (ltn_trans ik kj).
    by move: ki; rewrite ik /= => /negbTE->.
  - by rewrite !state_mixed_before// ltnW.
  - case: sj => [sj|]; last by right.
    by left; rewrite state_mixed// ltnNge (ltnW kj)/= state_mixed_before.
  - move=> i /andP[ki ij]; rewrite state_mixed// ltnNge (ltnW ki)/= state_mixed_before ?(ltnW ij)//.
    by move=> si; have := jmin i; rewrite /cut ki si eqxx => /(_ isT); rewrite leqNgt ij.
have [ds ls ss os] := gs; exists (mixed w v j :: s); split=> //=; last exact: loss_triangle (h _ _ acck accj detour) os.
by rewrite ss -natrD; congr (_%:R); have := dist_mixed_add w v (ltnW kj) jn; rewrite mixedn.
Qed.

Corollary graceful_by_detours (rho : R) :
  (forall w v, accepted w -> accepted v -> one_detour w v -> loses_at_most (rho * (dist w v)%:R) (P w) (P v)) ->
  forall w v, accepted w -> accepted v -> loses_at_most (rho * (dist w v)%:R) (P w) (P v).
Proof.
move=> h w v aw av; have [s [_ _ <-]] := detours_add_up h aw av.
suff -> : along (fun w v => rho * (dist w v)%:R) w s = rho * along (fun w v => (dist w v)%:R) w s by [].
by elim: s w {aw} => [|u s IH] w /=; rewrite ?mulr0// mulrDr IH.
Qed.

(* Where the state is the last symbol a detour is a block: consecutive symbols, all of which differ *)
Theorem detour_is_block w v : (forall i : 'I_n, state w i.+1 = state v i.+1 <-> w i = v i) -> one_detour w v ->
  exists k k', (k < k' <= n)%N /\ forall i : 'I_n, (w i != v i) = (k <= i < k')%N.
Proof.
move=> symbols [wv [k [k' [/andP[kk' k'n] outside _ sk' between]]]].
have inside (i : 'I_n) : (k <= i)%N -> (i.+1 < k')%N -> w i != v i.
  by move=> ki ik'; apply/eqP => /symbols; apply: between; rewrite ltnS ki.
have out (i : 'I_n) : ~~ (k <= i < k')%N -> (w i != v i) = false by move=> /outside->; rewrite eqxx.
have last_at (i : 'I_n) : (k <= i < k')%N -> (i.+1 < k')%N \/ i.+1 = k'.
  by case/andP=> _; rewrite leq_eqVlt => /predU1P[]; [right|left].
have [same|other] := eqVneq (state w k') (state v k'); last first.
  exists k, k'; rewrite kk' k'n; split=> // i; case ik: (k <= i < k')%N; last by rewrite out ?ik.
  have [lt|e] := last_at i ik; first by apply: inside => //; case/andP: ik.
  by apply/eqP => /symbols; rewrite e; exact/eqP.
have block (i : 'I_n) : (w i != v i) = (k <= i < k'.-1)%N.
  have ltP' : (i < k'.-1)%N = (i.+1 < k')%N by rewrite -ltnS prednK// (leq_ltn_trans (leq0n k)).
  rewrite ltP'; case ik: (k <= i < k')%N; last first.
    by rewrite out ?ik//; apply/esym/negbTE/negP => /andP[ki /ltnW ik']; rewrite ki ik' in ik.
  have [lt|e] := last_at i ik; first by rewrite lt andbT; case/andP: ik => ki _; rewrite ki inside.
  by rewrite e ltnn andbF; apply/negbTE; rewrite negbK; apply/eqP/symbols; rewrite e.
exists k, k'.-1; split=> //; rewrite (leq_trans (leq_pred k') k'n) andbT ltnNge; apply/negP => k'k.
by apply: wv; apply/ffunP => i; apply/eqP; rewrite -[_ == _]negbK block; apply/negP => /andP[ki ik]; move: (leq_trans ik k'k); rewrite ltnNge ki.
Qed.

End Detours.
