(* Uniform whole numbers from bits: uniform_integer and uniform_below in src/symveil/randomness/choices.py
   (docs/theory/central.md, "Exact noise"; docs/theory/hidden-lengths.md, "Choices").

   uniform_integer draws `width` fair bits, a whole number below 2^width >= bound, and draws again until the number is below
   the bound. uniform_below (Lemire's method; width is 32 in the code) draws one such number, multiplies it by the bound and answers
   the high half of the product, or draws again where the low half is below 2^width mod bound. `rounds` is how often they may draw.

   uniform_integer_law, uniform_below_law: the probability of each number below the bound tends to 1/bound; after finitely many
     rounds it is the same for all, and never more than 1/bound.
   Its sum over the numbers below the bound therefore tends to 1: the loop ends with probability 1. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences.
From mathcomp Require Import ring zify.
From symveil Require Import limits draws.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section UniformInteger.
Variables (R : realType) (bound width : nat).
Hypotheses (bound_gt0 : (0 < bound)%N) (wide : (bound <= 2 ^ width)%N).

Fixpoint uniform_integer (rounds : nat) : draw nat :=
  if rounds is r.+1
  then Uniform (2 ^ width) (fun drawn => if (drawn < bound)%N then Return drawn else uniform_integer r)
  else Pending.

Let total : R := (2 ^ width)%:R.
Let miss : R := 1 - bound%:R / total.

Lemma total_gt0 : 0 < total. Proof. by rewrite ltr0n expn_gt0. Qed.

Lemma miss_bounds : 0 <= miss < 1.
Proof.
rewrite subr_ge0 ler_pdivr_mulr ?total_gt0// mul1r ler_nat wide /=.
by rewrite ltr_subl_addr ltr_addl divr_gt0 ?total_gt0// ltr0n.
Qed.

Lemma uniform_integer_mean (rounds : nat) (g : nat -> R) :
  mean (uniform_integer rounds) g = (\sum_(i < bound) g i) / bound%:R * (1 - miss ^+ rounds).
Proof.
pose S := \sum_(i < bound) g i; rewrite -/S.
elim: rounds => [|r IH] /=; first by rewrite expr0 subrr mulr0.
rewrite (eq_bigr (fun i : 'I__ => if (i < bound)%N then g i else mean (uniform_integer r) g)); last first.
  by move=> i _; case: ifP.
rewrite (bigID (fun i : 'I__ => (i < bound)%N))/=.
rewrite [X in X + _](eq_bigr (fun i : 'I__ => g i)); last by move=> i ->.
rewrite [X in _ + X](eq_bigr (fun=> mean (uniform_integer r) g)); last by move=> i /negbTE->.
have -> : \sum_(i < 2 ^ width | (i < bound)%N) g i = S by rewrite /S (big_ord_widen _ g wide).
rewrite sumr_const.
have -> : #|[pred i : 'I_(2 ^ width) | ~~ (i < bound)%N]| = (2 ^ width - bound)%N.
  apply/eqP; rewrite -(eqn_add2l bound) subnKC//; apply/eqP.
  rewrite -[RHS](card_ord (2 ^ width)) -(cardC [pred i : 'I_(2 ^ width) | (i < bound)%N]); congr (_ + _)%N.
  by rewrite -sum1_card -(big_ord_widen _ (fun=> 1%N) wide) sum1_card card_ord.
have b0 : bound%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
rewrite -[X in _ + X]mulr_natr natrB// IH exprS -/total /miss; field.
by rewrite b0 gt_eqF// total_gt0.
Qed.

Lemma uniform_integer_chance (rounds i : nat) : (i < bound)%N ->
  chance R (uniform_integer rounds) (pred1 i) = bound%:R^-1 * (1 - miss ^+ rounds).
Proof.
move=> ib; rewrite /chance uniform_integer_mean; congr (_ * _).
rewrite (bigD1 (Ordinal ib))//= eqxx big1 ?addr0 ?div1r// => j ji.
by case: eqP => // ij; case/negP: ji; apply/eqP/val_inj.
Qed.

Theorem uniform_integer_law (i : nat) : (i < bound)%N ->
  (forall rounds, chance R (uniform_integer rounds) (pred1 i) <= bound%:R^-1) /\
  ((fun rounds => chance R (uniform_integer rounds) (pred1 i)) --> (bound%:R^-1 : R))%classic.
Proof.
move=> ib; have /andP[m0 m1] := miss_bounds.
split=> [rounds|].
  by rewrite uniform_integer_chance// ler_pimulr ?invr_ge0 ?ler0n// ger_addl oppr_le0 exprn_ge0.
apply: (@limit_eq _ _ (fun rounds => bound%:R^-1 * (1 - miss ^+ rounds))) => [rounds|].
  exact: uniform_integer_chance.
suff: ((fun rounds => bound%:R^-1 * (1 - miss ^+ rounds)) --> bound%:R^-1 * (1 - 0))%classic by rewrite subr0 mulr1.
apply: limit_mul; [exact: limit_constant|apply: limit_sub; [exact: limit_constant|]].
by apply: limit_power; rewrite m0.
Qed.

End UniformInteger.

(* Lemire's method *)
Section UniformBelow.
Variables (R : realType) (bound width : nat).
Hypotheses (bound_gt0 : (0 < bound)%N) (wide : (bound <= 2 ^ width)%N).
Let lanes := (2 ^ width)%N.
Let incomplete := (lanes %% bound)%N.

Fixpoint uniform_below (rounds : nat) : draw nat :=
  if rounds is r.+1
  then Uniform lanes (fun lane =>
         let product := (lane * bound)%N in
         if (product %% lanes < incomplete)%N then uniform_below r else Return (product %/ lanes)%N)
  else Pending.

Let lanes_gt0 : (0 < lanes)%N. Proof. by rewrite expn_gt0. Qed.
Let rounds_of_lanes : lanes = ((lanes %/ bound) * bound + incomplete)%N. Proof. exact: divn_eq. Qed.

Lemma accepted_lanes (i : nat) : (i < bound)%N ->
  (\sum_(x < lanes) ((incomplete <= (x * bound) %% lanes) && ((x * bound) %/ lanes == i)) = lanes %/ bound)%N.
Proof.
move=> ib; pose q := (lanes %/ bound)%N; pose first := ((i * lanes + incomplete + bound.-1) %/ bound)%N.
have first_q : (first + q = (i.+1 * lanes + bound.-1) %/ bound)%N.
  rewrite addnC /first -divnMDl//; congr (_ %/ _)%N; rewrite mulSn {3}rounds_of_lanes -/q; lia.
have E x : ((incomplete <= (x * bound) %% lanes) && ((x * bound) %/ lanes == i))%N = (first <= x < first + q)%N.
  have -> : (first <= x)%N = (i * lanes + incomplete <= x * bound)%N.
    by rewrite -ltnS /first ltn_divLR// mulSn; apply/idP/idP; lia.
  have -> : (x < first + q)%N = (x * bound < i.+1 * lanes)%N.
    by rewrite first_q leq_divRL// mulSn; apply/idP/idP; lia.
  have := divn_eq (x * bound) lanes; have := ltn_pmod (x * bound) lanes_gt0.
  move: (x * bound)%N => y; move: (y %% lanes)%N (y %/ lanes)%N => m d ml ->.
  rewrite mulSn; have [->|di] := eqVneq d i; first by rewrite andbT; apply/idP/idP; lia.
  rewrite andbF; apply/esym/negbTE/negP => /andP[h1 h2].
  have [lt|gt] := ltnP d i; first by have := leq_mul lt (leqnn lanes); rewrite mulSn; lia.
  have {}gt : (i < d)%N by rewrite ltn_neqAle eq_sym di.
  by have := leq_mul gt (leqnn lanes); rewrite mulSn; lia.
have last_lane : (first + q <= lanes)%N.
  rewrite first_q; apply: (@leq_trans ((lanes * bound + bound.-1) %/ bound)); last first.
    by rewrite divnMDl// divn_small ?addn0// prednK.
  by rewrite leq_div2r// leq_add2r mulnC leq_mul2l ib orbT.
have -> : (lanes %/ bound = \sum_(first <= x < first + q) 1)%N by rewrite sum_nat_const_nat addKn muln1.
rewrite [RHS](big_nat_widen _ _ lanes)// [RHS](big_nat_widenl _ 0)// big_mkord [RHS]big_mkcond /=.
by apply: eq_bigr => x _; rewrite E; case: (first <= x)%N; case: (x < _)%N.
Qed.

Lemma rejected_lanes : (\sum_(x < lanes) ((x * bound) %% lanes < incomplete) = incomplete)%N.
Proof.
have accepted : (\sum_(x < lanes) (incomplete <= (x * bound) %% lanes) = bound * (lanes %/ bound))%N.
  transitivity (\sum_(x < lanes) \sum_(i < bound) ((incomplete <= (x * bound) %% lanes) && ((x * bound) %/ lanes == i)))%N.
    apply: eq_bigr => x _; have xb : ((x * bound) %/ lanes < bound)%N.
      by rewrite ltn_divLR// mulnC ltn_pmul2l.
    rewrite (bigD1 (Ordinal xb))//= eqxx andbT big1 ?addn0// => j /eqP ji.
    by case: eqP => [e|_]; [case: ji; apply: val_inj|rewrite andbF].
  by rewrite exchange_big (eq_bigr _ (fun i _ => accepted_lanes (ltn_ord i))) sum_nat_const card_ord.
apply/eqP; rewrite -(eqn_add2l (bound * (lanes %/ bound))) -{1}accepted -big_split /=.
rewrite (eq_bigr (fun=> 1%N)) => [|x _]; last by rewrite leqNgt; case: (_ < _)%N.
by rewrite sum_nat_const card_ord muln1 mulnC -rounds_of_lanes.
Qed.

Let miss : R := incomplete%:R / lanes%:R.

Lemma uniform_below_chance (rounds i : nat) : (i < bound)%N ->
  chance R (uniform_below rounds) (pred1 i) = bound%:R^-1 * (1 - miss ^+ rounds).
Proof.
move=> ib; elim: rounds => [|r IH]; first by rewrite expr0 subrr mulr0.
rewrite /chance /=; have split_lane (x : 'I_lanes) :
    mean (if ((x * bound) %% lanes < incomplete)%N then uniform_below r else Return ((x * bound) %/ lanes)%N) (fun y => (pred1 i y)%:R)
    = ((x * bound) %% lanes < incomplete)%N%:R * chance R (uniform_below r) (pred1 i)
      + ((incomplete <= (x * bound) %% lanes) && ((x * bound) %/ lanes == i))%N%:R.
  by rewrite ltnNge; case: (incomplete <= _)%N; rewrite /= ?mulr1n ?mulr0n ?mul1r ?mul0r ?addr0 ?add0r.
rewrite (eq_bigr _ (fun x _ => split_lane x)) big_split /= -mulr_suml -!natr_sum rejected_lanes accepted_lanes// IH exprS.
have e : lanes%:R = (lanes %/ bound)%:R * bound%:R + incomplete%:R :> R by rewrite {1}rounds_of_lanes natrD natrM.
have l0 : lanes%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have b0 : bound%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have -> : (lanes %/ bound)%:R = (lanes%:R - incomplete%:R) / bound%:R :> R by rewrite e addrK mulfK.
move: (miss ^+ r) => t; rewrite /miss; field; by rewrite l0 b0.
Qed.

Theorem uniform_below_law (i : nat) : (i < bound)%N ->
  (forall rounds, chance R (uniform_below rounds) (pred1 i) <= bound%:R^-1) /\
  ((fun rounds => chance R (uniform_below rounds) (pred1 i)) --> (bound%:R^-1 : R))%classic.
Proof.
move=> ib; have m0 : 0 <= miss by rewrite divr_ge0 ?ler0n.
have m1 : miss < 1.
  by rewrite ltr_pdivr_mulr ?ltr0n// mul1r ltr_nat (leq_trans _ wide)// ltn_pmod.
split=> [rounds|].
  by rewrite uniform_below_chance// ler_pimulr ?invr_ge0 ?ler0n// ger_addl oppr_le0 exprn_ge0.
apply: (@limit_eq _ _ (fun rounds => bound%:R^-1 * (1 - miss ^+ rounds))) => [rounds|].
  exact: uniform_below_chance.
suff: ((fun rounds => bound%:R^-1 * (1 - miss ^+ rounds)) --> bound%:R^-1 * (1 - 0))%classic by rewrite subr0 mulr1.
apply: limit_mul; [exact: limit_constant|apply: limit_sub; [exact: limit_constant|]].
by apply: limit_power; rewrite m0.
Qed.

End UniformBelow.
