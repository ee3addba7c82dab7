(* Composition (docs/theory/central.md, Theorem 5.3; docs/theory/losses.md).

   Several answers are given one after the other. The i-th is drawn from a law that may depend on the secret and on all
   answers so far: step past o is the probability that o comes after the list of answers past. The answers o_1 ... o_k
   come out with the product of these probabilities (answers).

   composition: if the i-th step loses at most e_i, whatever was answered before, all k answers together lose at most
   e_0 + ... + e_(k-1). The steps may be chosen adaptively; outputs are any type.

   Which step is asked may depend on past answers; how much it may lose, e_i, is fixed beforehand. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From symveil Require Import loss.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Composition.
Variables (R : realType) (O : Type).

Fixpoint answers (step : seq O -> O -> R) (past os : seq O) : R :=
  if os is o :: rest then step past o * answers step (rcons past o) rest else 1.

Variables (p q : seq O -> O -> R) (e : nat -> R).
Hypothesis p_ge0 : forall past o, 0 <= p past o.
Hypothesis q_ge0 : forall past o, 0 <= q past o.
Hypothesis steps : forall past, loses_at_most (e (size past)) (p past) (q past).

Lemma answers_ge0 (step : seq O -> O -> R) past os :
  (forall past o, 0 <= step past o) -> 0 <= answers step past os.
Proof.
move=> s0; elim: os past => [|o os IH] past /=; first by rewrite ler01.
by rewrite mulr_ge0.
Qed.

Lemma answers_after past os :
  answers p past os <= expR (\sum_(i < size os) e (size past + i)) * answers q past os.
Proof.
elim: os past => [|o os IH] past /=; first by rewrite big_ord0 expR0 mulr1.
rewrite big_ord_recl/= addn0 expRD mulrACA; apply: ler_pmul => //; [exact: answers_ge0|exact: steps|].
apply: le_trans (IH _) _.
have -> : \sum_(i < size os) e (size (rcons past o) + i)%N = \sum_(i < size os) e (size past + bump 0 i)%N.
  by apply: eq_bigr => i _; rewrite size_rcons addSnnS.
exact: lexx.
Qed.

Theorem composition (k : nat) (os : seq O) : size os = k ->
  answers p [::] os <= expR (\sum_(i < k) e i) * answers q [::] os.
Proof. by move=> <-; apply: answers_after. Qed.

End Composition.

(* Two answers of different kinds; the second may depend on the first *)
Corollary composition_of_two (R : realType) (O1 O2 : Type) (e1 e2 : R) (p1 q1 : O1 -> R) (p2 q2 : O1 -> O2 -> R) :
  (forall o, 0 <= p1 o) -> (forall o o', 0 <= p2 o o') ->
  loses_at_most e1 p1 q1 -> (forall o, loses_at_most e2 (p2 o) (q2 o)) ->
  loses_at_most (e1 + e2) (fun o => p1 o.1 * p2 o.1 o.2) (fun o => q1 o.1 * q2 o.1 o.2).
Proof. move=> p10 p20 h1 h2 [o1 o2] /=; rewrite expRD mulrACA; apply: ler_pmul; [exact: p10|exact: p20|exact: h1|exact: h2]. Qed.
