(* Balance: a prior that flattens the normaliser (docs/theory/certificates.md, Theorem 2.3; docs/theory/lower-bounds.md, Theorem 3.4).

   balance: if the sum of s(o) k(w,o) over all outputs o is 1 for every word w, and k(w,o) <= exp(a) k(v,o), then
     P(o|w) = s(o) k(w,o) is a law for every w, and w and v lose at most a: the factor 2 of the classic rate is gone. For
     k = exp(-eta D) and D(w,o), D(v,o) within b of each other, a is eta b (weight_ratio in finite_laws.v).
   price_bound: a lower bound by prices (docs/theory/lower-bounds.md, Theorem 3.2). If sum_w pi(w) (d(w,x) - lambda(w)) p(w) >= 0 for every
     output x and p = P(x|.), the expected error of P is at least the mean of lambda.
   balance_optimal: let K(w,v) be the least factor that privacy asks for, p(w) >= K(w,v) p(v) for every column p of every
     private mechanism, and let s >= 0 have sum_o s(o) K(w,o) = 1. If some lambda <= 1 solves
     sum_w pi(w) lambda(w) K(w,o) = sum_w pi(w) d(w,o) K(w,o) for all o, then no private mechanism has a smaller expected
     error than s(o) K(w,o), whatever it releases (words, or anything else at distance 1 or more from every word), and the least
     error is the mean of lambda. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring.
From symveil Require Import loss finite_laws.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Balance.
Variables (R : realType) (W : Type) (O : finType) (s : O -> R) (k : W -> O -> R).
Hypothesis s_ge0 : forall o, 0 <= s o.
Hypothesis flat : forall w, \sum_o s o * k w o = 1.

Theorem balance (w v : W) (a : R) :
  (forall o, k w o <= expR a * k v o) -> loses_at_most a (fun o => s o * k w o) (fun o => s o * k v o).
Proof. by move=> h o; rewrite mulrCA ler_wpmul2l. Qed.

Lemma balanced_law (w : W) (o : O) : law s k w o = s o * k w o.
Proof. by rewrite /law /normaliser flat divr1. Qed.
End Balance.

Section Prices.
Variables (R : realFieldType) (L X : finType) (pi lambda : L -> R) (d p : L -> X -> R).
Hypothesis p_law : forall w, \sum_x p w x = 1.

Theorem price_bound :
  (forall x, 0 <= \sum_w pi w * (d w x - lambda w) * p w x) ->
  \sum_w pi w * lambda w <= \sum_w pi w * (\sum_x d w x * p w x).
Proof.
move=> h; rewrite -subr_ge0 -sumrB.
have -> : \sum_w (pi w * (\sum_x d w x * p w x) - pi w * lambda w)
    = \sum_x \sum_w pi w * (d w x - lambda w) * p w x.
  rewrite exchange_big; apply: eq_bigr => w _ /=.
  have -> : pi w * lambda w = \sum_x pi w * lambda w * p w x by rewrite -mulr_sumr p_law mulr1.
  by rewrite mulr_sumr -sumrB; apply: eq_bigr => x _; ring.
by apply: sumr_ge0 => x _; exact: h.
Qed.
End Prices.

Section Optimal.
Variables (R : realFieldType) (L Y : finType) (pi lambda : L -> R) (d : L -> L + Y -> R) (K : L -> L -> R) (s : L -> R).
Hypothesis pi_ge0 : forall w, 0 <= pi w.
Hypothesis d_other : forall w o, w != o -> 1 <= d w (inl o).
Hypothesis d_outside : forall w y, 1 <= d w (inr y).
Hypothesis K_own : forall o, K o o = 1.
Hypothesis flat : forall w, \sum_o s o * K w o = 1.
Hypothesis lambda_le1 : forall w, lambda w <= 1.
Hypothesis lambda_solves : forall o, \sum_w pi w * lambda w * K w o = \sum_w pi w * d w (inl o) * K w o.

Definition private (P : L -> L + Y -> R) :=
  [/\ forall w x, 0 <= P w x, forall w, \sum_x P w x = 1 & forall w v x, K w v * P v x <= P w x].

Definition error (P : L -> L + Y -> R) : R := \sum_w pi w * (\sum_x d w x * P w x).
Definition balanced (w : L) (x : L + Y) : R := if x is inl o then s o * K w o else 0.

Lemma sum_outputs (f : L + Y -> R) : \sum_x f x = \sum_o f (inl o) + \sum_y f (inr y).
Proof. exact: big_sumType. Qed.

Lemma balanced_error : error balanced = \sum_w pi w * lambda w.
Proof.
rewrite /error.
transitivity (\sum_w \sum_o pi w * d w (inl o) * K w o * s o).
  apply: eq_bigr => w _; rewrite sum_outputs [X in _ + X]big1 ?addr0; last by move=> y _; rewrite mulr0.
  by rewrite mulr_sumr; apply: eq_bigr => o _; rewrite /balanced; ring.
rewrite exchange_big /=.
transitivity (\sum_o \sum_w pi w * lambda w * K w o * s o).
  by apply: eq_bigr => o _; rewrite -!mulr_suml lambda_solves.
rewrite exchange_big /=; apply: eq_bigr => w _.
rewrite -[RHS]mulr1 -(flat w) mulr_sumr; apply: eq_bigr => o _; ring.
Qed.

Theorem balance_optimal : error balanced = \sum_w pi w * lambda w /\
  forall P, private P -> error balanced <= error P.
Proof.
split=> [|P [P0 P1 PK]]; first exact: balanced_error.
rewrite balanced_error; apply: price_bound => // -[o|y]; last first.
  apply: sumr_ge0 => w _; rewrite !mulr_ge0// subr_ge0.
  exact: le_trans (lambda_le1 w) (d_outside w y).
have solves : \sum_w pi w * (d w (inl o) - lambda w) * K w o = 0.
  have -> : \sum_w pi w * (d w (inl o) - lambda w) * K w o
      = \sum_w pi w * d w (inl o) * K w o - \sum_w pi w * lambda w * K w o.
    by rewrite -sumrB; apply: eq_bigr => w _; ring.
  by rewrite lambda_solves subrr.
apply: (@le_trans _ _ ((\sum_w pi w * (d w (inl o) - lambda w) * K w o) * P o (inl o))).
  by rewrite solves mul0r.
rewrite mulr_suml; apply: ler_sum => w _.
have [->|wo] := eqVneq w o; first by rewrite K_own mulr1.
rewrite -mulrA ler_wpmul2l ?PK// mulr_ge0// subr_ge0.
exact: le_trans (lambda_le1 w) (d_other wo).
Qed.

(* The balanced mechanism is private itself where K is a metric in exponential form *)
Lemma balanced_private : (forall o, 0 <= s o) -> (forall w v, 0 <= K w v) ->
  (forall w v o, K w v * K v o <= K w o) -> private balanced.
Proof.
move=> s0 K0 K_triangle; split.
- by move=> w [o|y] /=; rewrite ?lexx// mulr_ge0.
- by move=> w; rewrite sum_outputs/= flat big1 ?addr0.
- by move=> w v [o|y] /=; rewrite ?mulr0// mulrCA ler_wpmul2l.
Qed.
End Optimal.

(* Two words, K = k between them: the hypotheses hold, and the least error is that of randomised response *)
Section Example.
Variables (R : realFieldType) (k : R).
Hypotheses (k0 : 0 < k) (k1 : k < 1).
Let K (w v : bool) : R := if w == v then 1 else k.

Example two_words_balanced (Y : finType) :
  let d (w : bool) (x : bool + Y) : R := if x is inl o then (w != o)%:R else 1 in
  error (fun=> 1 / 2) d (@balanced _ _ Y K (fun=> 1 / (1 + k))) = k / (1 + k) /\
  forall P, private K P -> k / (1 + k) <= error (fun=> 1 / 2) d P.
Proof.
move=> d; have h : 1 + k != 0 by rewrite gt_eqF// addr_gt0 ?ltr01.
have [] := @balance_optimal R _ Y (fun=> 1 / 2) (fun=> k / (1 + k)) d K (fun=> 1 / (1 + k)).
- by move=> _; rewrite divr_ge0 ?ler01 ?ler0n.
- by case=> -[] //= _; rewrite lexx.
- by move=> w y; rewrite /d /= lexx.
- by move=> o; rewrite /K eqxx.
- by move=> w; rewrite big_bool /K; case: w => /=; field.
- by move=> w; rewrite ler_pdivr_mulr ?addr_gt0 ?ltr01// mul1r ler_addr ler01.
- by move=> o; rewrite !big_bool /K /d; case: o => /=; field.
move=> e h'; have E : error (fun=> 1 / 2) d (@balanced _ _ Y K (fun=> 1 / (1 + k))) = k / (1 + k).
  by rewrite e big_bool /=; field.
by split=> // P pP; rewrite -E; exact: h'.
Qed.
End Example.
