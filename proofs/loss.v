(* What two laws lose beside each other: the definitions that all files share.

   The laws p and q say with what probability each output comes out for two secret words. "p and q lose at most e" means
   p(o) <= exp(e) q(o) for every output o. "They lose exactly e" means that, and that some output that can come out of q
   attains it; then no smaller number will do (loses_exactly_least). The pair in the other order is another statement:
   theorems about a mechanism are about all ordered pairs.

   Outputs are single outputs o, not events. For laws on a finite set both are the same (loses_at_most_event). *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Loss.
Variable R : realType.

Definition loses_at_most (O : Type) (e : R) (p q : O -> R) := forall o, p o <= expR e * q o.

Definition loses_exactly (O : Type) (e : R) (p q : O -> R) :=
  loses_at_most e p q /\ exists2 o, 0 < q o & p o = expR e * q o.

Lemma loses_at_most_weaken (O : Type) (e e' : R) (p q : O -> R) :
  (forall o, 0 <= q o) -> e <= e' -> loses_at_most e p q -> loses_at_most e' p q.
Proof.
move=> q0 ee' h o; apply: le_trans (h o) _.
by rewrite ler_wpmul2r ?q0// ler_expR.
Qed.

Theorem loses_exactly_least (O : Type) (e e' : R) (p q : O -> R) :
  loses_exactly e p q -> loses_at_most e' p q -> e <= e'.
Proof.
case=> _ [o q0 po] /(_ o); rewrite po.
by rewrite ler_pmul2r// ler_expR.
Qed.

Theorem loses_at_most_event (O : finType) (e : R) (p q : O -> R) :
  loses_at_most e p q <->
  forall E : {set O}, \sum_(o in E) p o <= expR e * \sum_(o in E) q o.
Proof.
split=> [h E|h o]; first by rewrite mulr_sumr; apply: ler_sum => o _; apply: h.
by have := h [set o]; rewrite !big_set1.
Qed.

End Loss.
