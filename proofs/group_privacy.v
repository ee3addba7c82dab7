(* Group privacy (docs/theory/losses.md, Theorem 1.4).

   loss_triangle: for every mechanism and every word u that may be an input, the loss of w and v is at most that of w and
   u plus that of u and v.
   group_privacy: along a path of k steps, each between inputs that lose at most e, the ends lose at most k e.
   group_privacy_words: among all words of length n, if words that differ in at most b places lose at most e, words that
   differ in at most k b places lose at most k e: there are words in between. On a model there may be none. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From symveil Require Import loss hamming_words.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section GroupPrivacy.
Variables (R : realType) (W O : Type) (P : W -> O -> R).

Theorem loss_triangle (w u v : W) (e1 e2 : R) :
  loses_at_most e1 (P w) (P u) -> loses_at_most e2 (P u) (P v) -> loses_at_most (e1 + e2) (P w) (P v).
Proof.
move=> h1 h2 o; apply: le_trans (h1 o) _.
by rewrite expRD -mulrA ler_pmul2l ?expR_gt0.
Qed.

Theorem group_privacy (adjacent : rel W) (e : R) (w : W) (s : seq W) :
  (forall w v, adjacent w v -> loses_at_most e (P w) (P v)) ->
  path adjacent w s -> loses_at_most ((size s)%:R * e) (P w) (P (last w s)).
Proof.
move=> h; elim: s w => [|u s IH] w /=; first by move=> _ o; rewrite mul0r expR0 mul1r.
case/andP=> wu us; rewrite mulrSr mulrDl mul1r addrC.
by apply: loss_triangle (IH u us); apply: h.
Qed.

End GroupPrivacy.

Section Words.
Variables (R : realType) (A : finType) (n : nat) (O : Type).
Notation word := {ffun 'I_n -> A}.
Variable P : word -> O -> R.

Lemma word_between (b c : nat) (w v : word) : (dist w v <= b + c)%N ->
  exists u : word, (dist w u <= b)%N /\ (dist u v <= c)%N.
Proof.
move=> wv; pose S := [set i in take b (enum (differ w v))].
have S_sub i : i \in S -> i \in differ w v by rewrite inE => /mem_take; rewrite mem_enum.
have S_card : #|S| = minn b (dist w v).
  by rewrite cardsE (card_uniqP _) ?take_uniq ?enum_uniq// size_take_min -cardE.
exists [ffun i => if i \in S then v i else w i]; split.
  apply: (@leq_trans #|S|); last by rewrite S_card geq_minl.
  apply/subset_leq_card/subsetP => i; rewrite [i \in differ _ _]inE ffunE.
  by case: ifP => // _; rewrite eqxx.
apply: (@leq_trans #|differ w v :\: S|).
  apply/subset_leq_card/subsetP => i; rewrite [i \in differ _ _]inE ffunE in_setD [i \in differ _ _]inE.
  by case: ifP => //; rewrite eqxx.
rewrite cardsD (_ : differ w v :&: S = S) ?S_card; last first.
  by apply/setIidPr/subsetP => i /S_sub.
by rewrite leq_subLR addn_minl leq_min wv leq_addr.
Qed.

Theorem group_privacy_words (b k : nat) (e : R) :
  (forall w v : word, (dist w v <= b)%N -> loses_at_most e (P w) (P v)) ->
  forall w v : word, (dist w v <= k * b)%N -> loses_at_most (k%:R * e) (P w) (P v).
Proof.
move=> h; elim: k => [|k IH] w v.
  rewrite mul0n leqn0 dist_eq0 => /eqP-> o; by rewrite mul0r expR0 mul1r.
rewrite mulSn => /word_between[u [wu uv]].
rewrite mulrSr mulrDl mul1r addrC.
by apply: loss_triangle (IH _ _ uv); apply: h.
Qed.

End Words.
