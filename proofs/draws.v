(* Programs that draw whole numbers, and what they answer with what probability.

   A draw answers a value (Return), or draws a whole number from 0 .. b-1, each with probability 1/b, and goes on with it
   (Uniform), or has not come to an end yet (Pending). A loop without a bound is modelled by a number of rounds that it
   may take, and is Pending after them; its law is the limit for more and more rounds. mean d g is the mean of g over
   the answers of d, where what is pending counts 0; chance d E the probability of an answer in E.

   This models the functions of src/symveil/randomness/choices.py: uniform_integer(b, bits) is Uniform b, which
   uniform_integer.v takes apart once more into bits. What is not modelled: that the bits are fair and independent (they
   come from AES-256 in counter mode), and how Python computes with whole numbers. *)

From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Inductive draw (T : Type) : Type :=
| Return of T
| Uniform of nat & (nat -> draw T)
| Pending.
Arguments Pending {T}.

Fixpoint bind (S T : Type) (d : draw S) (f : S -> draw T) : draw T :=
  match d with
  | Return x => f x
  | Uniform b k => Uniform b (fun i => bind (k i) f)
  | Pending => Pending
  end.

Section Mean.
Variable R : realFieldType.

Fixpoint mean (T : Type) (d : draw T) (g : T -> R) : R :=
  match d with
  | Return x => g x
  | Uniform b k => (\sum_(i < b) mean (k i) g) / b%:R
  | Pending => 0
  end.

Definition chance (T : Type) (d : draw T) (E : pred T) : R := mean d (fun x => (E x)%:R).

Lemma mean_bind (S T : Type) (d : draw S) (f : S -> draw T) g : mean (bind d f) g = mean d (fun x => mean (f x) g).
Proof. by elim: d => //= b k IH; congr (_ / _); apply: eq_bigr => i _. Qed.

Lemma eq_mean (T : Type) (d : draw T) g h : g =1 h -> mean d g = mean d h.
Proof. by move=> gh; elim: d => //= b k IH; congr (_ / _); apply: eq_bigr => i _. Qed.

Lemma meanD (T : Type) (d : draw T) g h : mean d (fun x => g x + h x) = mean d g + mean d h.
Proof.
elim: d => //= [b k IH|]; last by rewrite addr0.
by rewrite -mulrDl -big_split; congr (_ / _); apply: eq_bigr => i _; rewrite IH.
Qed.

Lemma meanZ (T : Type) (d : draw T) c g : mean d (fun x => c * g x) = c * mean d g.
Proof.
elim: d => //= [b k IH|]; last by rewrite mulr0.
by rewrite mulrA mulr_sumr; congr (_ / _); apply: eq_bigr => i _; rewrite IH.
Qed.

Lemma mean_ge0 (T : Type) (d : draw T) g : (forall x, 0 <= g x) -> 0 <= mean d g.
Proof.
move=> g0; elim: d => //= b k IH.
by rewrite mulr_ge0 ?invr_ge0 ?ler0n// sumr_ge0.
Qed.

Lemma mean_le1 (T : Type) (d : draw T) g : (forall x, g x <= 1) -> mean d g <= 1.
Proof.
move=> g1; elim: d => //= [b k IH|]; last exact: ler01.
case: b => [|b]; first by rewrite big_ord0 mul0r ler01.
rewrite ler_pdivr_mulr ?ltr0Sn// mul1r.
have -> : b.+1%:R = \sum_(i < b.+1) 1 :> R by rewrite sumr_const card_ord.
by apply: ler_sum => i _; apply: IH.
Qed.

Lemma chance_ge0 (T : Type) (d : draw T) E : 0 <= chance d E.
Proof. by apply: mean_ge0 => x; rewrite ler0n. Qed.

Lemma chance_le1 (T : Type) (d : draw T) E : chance d E <= 1.
Proof. by apply: mean_le1 => x; case: (E x); rewrite ?lexx ?ler01. Qed.

End Mean.
