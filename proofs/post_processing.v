(* Post-processing (docs/theory/central.md, Theorem 5.3; docs/threat-model.md).

   post_processing: an observer who gets an output o and makes something of it, x with probability f(o,x), learns no more: if the
   laws of o lose at most e, so do the laws of x. f may be any non-negative numbers: a function, a random draw, or one
   that forgets (docs/theory/lower-bounds.md, "Tiles", conditions and forgets). *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From symveil Require Import loss.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section PostProcessing.
Variables (R : realType) (O : finType) (X : Type) (f : O -> X -> R).
Hypothesis f_ge0 : forall o x, 0 <= f o x.

Definition processed (p : O -> R) (x : X) : R := \sum_o p o * f o x.

Theorem post_processing (e : R) (p q : O -> R) :
  loses_at_most e p q -> loses_at_most e (processed p) (processed q).
Proof.
move=> h x; rewrite mulr_sumr; apply: ler_sum => o _.
by rewrite mulrA ler_wpmul2r.
Qed.

End PostProcessing.
