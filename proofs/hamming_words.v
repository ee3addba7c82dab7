(* Words of n symbols over a finite alphabet, and their Hamming distance.

   The alphabet is any finite type A, a word a function from the n positions to A; dist w v is the number of positions
   in which w and v differ. distC, dist_triangle: it is a distance.

   sum_by_distance_constant (docs/theory/losses.md, "Z does not depend on w"): the sum of r(dist w o) over all
   words o is the same for every word w. Proof: swap the symbols w_i and v_i in each position; that is a bijection of
   all words that takes distances from w to distances from v.

   word_pair_at: with at least two symbols there are, for d, d' <= n, a word o and words w, v at distances d and d' from
   it that differ in |d - d'| positions only. *)

From mathcomp Require Import all_ssreflect fingroup perm all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.

Section Words.
Variables (A : finType) (n : nat).
Notation word := {ffun 'I_n -> A}.
Implicit Types w v u o : word.

Definition differ w v := [set i | w i != v i].
Definition dist w v := #|differ w v|.

Lemma distC w v : dist w v = dist v w.
Proof. by apply: eq_card => i; rewrite !inE eq_sym. Qed.

Lemma distxx w : dist w w = 0.
Proof. by apply: eq_card0 => i; rewrite !inE eqxx. Qed.

Lemma dist_le w v : dist w v <= n.
Proof. by rewrite -[leqRHS]card_ord max_card. Qed.

Lemma dist_eq0 w v : (dist w v == 0) = (w == v).
Proof.
apply/eqP/eqP => [/eqP|->]; last exact: distxx.
rewrite cards_eq0 => /eqP d0; apply/ffunP => i; apply/eqP.
by have := in_set0 i; rewrite -d0 inE => /negbFE.
Qed.

Lemma dist_triangle w v u : dist w u <= dist w v + dist v u.
Proof.
apply: leq_trans (leq_card_setU _ _); apply/subset_leq_card/subsetP => i.
by rewrite !inE; case: (w i =P v i) => [->|].
Qed.

Definition turn w v o : word := [ffun i => tperm (w i) (v i) (o i)].

Lemma turnK w v : involutive (turn w v).
Proof. by move=> o; apply/ffunP => i; rewrite !ffunE tpermK. Qed.

Lemma dist_turn w v o : dist v (turn w v o) = dist w o.
Proof.
apply: eq_card => i; rewrite !inE ffunE; congr (~~ _).
by rewrite -{1}[v i](tpermL (w i)) (inj_eq perm_inj).
Qed.

Theorem sum_by_distance_constant (M : zmodType) (r : nat -> M) w v :
  (\sum_o r (dist w o) = \sum_o r (dist v o))%R.
Proof.
rewrite [RHS](reindex_inj (inv_inj (turnK w v))).
by apply: eq_bigr => o _; rewrite dist_turn.
Qed.

(* o with other symbols in the first d positions *)
Definition changed (other : A -> A) (o : word) d : word := [ffun i : 'I_n => if i < d then other (o i) else o i].

Lemma dist_changed (other : A -> A) o d d' :
  (forall x, other x != x) -> d <= d' -> d' <= n -> dist (changed other o d) (changed other o d') = d' - d.
Proof.
move=> ox dd' d'n.
have -> : d' - d = \sum_(d <= i < d') 1 by rewrite sum_nat_const_nat muln1.
rewrite /dist -sum1_card [RHS](big_nat_widen _ _ n)// (big_nat_widenl _ 0)//.
rewrite big_mkord; apply: eq_bigl => i; rewrite !inE !ffunE/=.
case: (ltnP i d) => id; first by rewrite (leq_trans id dd') eqxx.
by case: ifP => id' /=; rewrite ?eqxx// eq_sym ox.
Qed.

Theorem word_pair_at d d' : 1 < #|A| -> d <= n -> d' <= n ->
  exists o w v, [/\ dist w o = d, dist v o = d' & dist w v = (d - d') + (d' - d)].
Proof.
move=> /card_gt1P[x [y [_ _ xy]]] dn d'n.
pose other z := if z == x then y else x.
have ox z : other z != z.
  by rewrite /other; case: ifP => [/eqP->|zx]; rewrite eq_sym// zx.
pose o : word := [ffun=> x].
have o0 : changed other o 0 = o by apply/ffunP => i; rewrite !ffunE.
exists o, (changed other o d), (changed other o d'); split.
- by rewrite distC -{1}o0 dist_changed// subn0.
- by rewrite distC -{1}o0 dist_changed// subn0.
- case: (leqP d d') => dd'; first by rewrite dist_changed// (eqP dd').
  by rewrite distC dist_changed// ?(ltnW dd')// (eqP (ltnW dd')) addn0.
Qed.

End Words.
