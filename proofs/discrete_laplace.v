(* The discrete Laplace draw by coin flips has exactly its law: discrete_laplace in src/symveil/randomness/choices.py
   (docs/theory/central.md, "Exact noise"; Canonne, Kamath and Steinke, algorithm 2).

   The model is that function line by line, for the scale whole/parts: a uniform number below `whole` is accepted with
   chance exp(-rest/whole), coins of chance exp(-1) are counted, (rest + whole * rounds) is divided by `parts`, a fair
   sign is drawn, and -0 begins again. Every loop may take `n` rounds, and is Pending after them.

   discrete_laplace_law: with more and more rounds the probability of z tends to (1-q)/(1+q) q^|z|, q = exp(-parts/whole).
   By laplace_sums_to_one (laplace.v) these numbers add up to 1, so the draw ends with probability 1.

   What is not modelled: uniform_integer is a perfect uniform draw here (uniform_integer.v has its law), and records,
   streams and keys, which decide where bits come from. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences exp.
From mathcomp Require Import ring zify.
From symveil Require Import limits draws bernoulli_exp laplace.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Section Program.
Variables (whole parts : nat).

(* rounds = 0; while _with_chance_exp(1, 1, bits): rounds += 1 *)
Fixpoint count_rounds (inner tries rounds : nat) : draw nat :=
  if tries is t.+1
  then bind (with_chance_exp 1 1 inner) (fun more => if more then count_rounds inner t rounds.+1 else Return rounds)
  else Pending.

(* One turn of the outer loop: None where it begins again *)
Definition attempt (n : nat) : draw (option int) :=
  Uniform whole (fun rest =>
    bind (with_chance_exp rest whole n) (fun accepted =>
      if accepted then
        bind (count_rounds n n 0) (fun rounds =>
          let size := ((rest + whole * rounds) %/ parts)%N in
          Uniform 2 (fun sign =>
            let negative := sign == 1%N in
            if (size != 0%N) || ~~ negative then Return (Some (if negative then - size%:Z else size%:Z))
            else Return None))
      else Return None)).

Fixpoint tries_of_attempt (n tries : nat) : draw int :=
  if tries is t.+1
  then bind (attempt n) (fun answer => if answer is Some z then Return z else tries_of_attempt n t)
  else Pending.

Definition discrete_laplace (n : nat) : draw int := tries_of_attempt n n.
End Program.

Section Law.
Variables (R : realType) (whole parts : nat).
Hypotheses (whole_gt0 : (0 < whole)%N) (parts_gt0 : (0 < parts)%N).

Let r : R := expR (- (1 / whole%:R)).
Let q : R := expR (- (parts%:R / whole%:R)).

Let yes (rest n : nat) : R := chance R (with_chance_exp rest whole n) (pred1 true).
Let no (rest n : nat) : R := chance R (with_chance_exp rest whole n) (pred1 false).
Let more (n : nat) : R := chance R (with_chance_exp 1 1 n) (pred1 true).
Let stop (n : nat) : R := chance R (with_chance_exp 1 1 n) (pred1 false).

Lemma mean_bool (d : draw bool) (g : bool -> R) :
  mean d g = chance R d (pred1 true) * g true + chance R d (pred1 false) * g false.
Proof.
rewrite /chance mulrC [X in _ + X]mulrC -!meanZ -meanD; apply: eq_mean.
by case; rewrite /= ?mulr1 ?mulr0 ?addr0 ?add0r.
Qed.

Lemma mean_rounds (inner tries k : nat) (g : nat -> R) :
  mean (count_rounds inner tries k) g = \sum_(j < tries) more inner ^+ j * stop inner * g (k + j)%N.
Proof.
elim: tries k => [|t IH] k /=; first by rewrite big_ord0.
rewrite mean_bind mean_bool /= IH big_ord_recl/= expr0 mul1r addn0 addrC; congr (_ + _).
by rewrite mulr_sumr; apply: eq_bigr => j _; rewrite exprS addSnnS !mulrA.
Qed.

(* How often n rounds end with the size m *)
Let sized (m n : nat) : R :=
  (\sum_(rest < whole) yes rest n *
     \sum_(k < n) more n ^+ k * stop n * (((rest + whole * k) %/ parts)%N == m)%:R) / whole%:R.
Let refused (n : nat) : R := (\sum_(rest < whole) no rest n) / whole%:R.

Lemma mean_attempt (n m : nat) (f : option int -> R) (x y : R) :
  (forall size, (f (Some size%:Z) + (if size == 0%N then f None else f (Some (- size%:Z)))) / 2 = x * (size == m)%:R) ->
  f None = y -> mean (attempt whole parts n) f = x * sized m n + refused n * y.
Proof.
move=> fx fy; rewrite /= /sized /refused [x * _]mulrA [_ / _ * y]mulrAC -mulrDl.
congr (_ / _); rewrite mulr_sumr mulr_suml -big_split.
apply: eq_bigr => rest _ /=.
rewrite mean_bind mean_bool /= mean_bind mean_rounds fy; congr (_ + _).
rewrite mulrCA; congr (_ * _); rewrite mulr_sumr; apply: eq_bigr => k _.
rewrite [RHS]mulrCA -fx add0n; set size := (_ %/ _)%N; congr (_ * (_ / _)).
rewrite /= !big_ord_recl big_ord0 addr0 /= orbT orbF; congr (_ + _).
by case: (size =P 0%N).
Qed.

Let answers (z : int) (n : nat) : R :=
  mean (attempt whole parts n) (fun a => if a is Some z' then (z' == z)%:R else 0).
Let again (n : nat) : R := mean (attempt whole parts n) (fun a => if a is Some _ then 0 else 1).

Lemma answersE (z : int) (n : nat) : answers z n = 2^-1 * sized `|z| n.
Proof.
rewrite /answers (@mean_attempt n `|z|%N _ 2^-1 0) ?mulr0 ?addr0// => size.
rewrite mulrC; congr (_ * _).
case: z size => k [|s]; rewrite ?addr0//=.
by rewrite !NegzE eqr_opp !eqz_nat add0r.
Qed.

Lemma againE (n : nat) : again n = 2^-1 * sized 0 n + refused n.
Proof.
rewrite /again (@mean_attempt n 0 _ 2^-1 1) ?mulr1// => size.
by rewrite mulrC add0r; case: eqP.
Qed.

Lemma again_ge0 (n : nat) : 0 <= again n.
Proof. by apply: mean_ge0 => -[?|]; rewrite ?ler01 ?lexx. Qed.

Lemma discrete_laplace_mean (n tries : nat) (z : int) :
  chance R (tries_of_attempt whole parts n tries) (pred1 z) = \sum_(j < tries) again n ^+ j * answers z n.
Proof.
elim: tries => [|t IH]; first by rewrite big_ord0.
rewrite big_ord_recl expr0 mul1r /chance -[tries_of_attempt _ _ _ _.+1]/(bind (attempt whole parts n)
  (fun a => if a is Some z then Return z else tries_of_attempt whole parts n t)) mean_bind.
pose later : R := mean (tries_of_attempt whole parts n t) (fun z' => (pred1 z z')%:R).
rewrite (@eq_mean _ _ _ _ (fun a => (if a is Some z' then (z' == z)%:R else 0) +
  later * (if a is Some _ then 0 else 1))); last by case=> [z'|]; rewrite /= ?mulr0 ?addr0 ?mulr1 ?add0r.
rewrite meanD meanZ -/(answers z n) -/(again n); congr (_ + _).
have -> : later = \sum_(j < t) again n ^+ j * answers z n by exact: IH.
by rewrite mulr_suml; apply: eq_bigr => j _; rewrite lift0 exprS mulrC mulrA.
Qed.

(* Limits *)
Let E : R := (1 - r ^+ whole) / (whole%:R * (1 - r)).

Let whole_neq0 : whole%:R != 0 :> R. Proof. by rewrite pnatr_eq0 -lt0n. Qed.

Lemma r_bounds : 0 < r < 1.
Proof. by rewrite expR_gt0/= expR_lt1 oppr_lt0 divr_gt0 ?ltr01 ?ltr0n. Qed.

Lemma expR_r (n : nat) : expR (- (n%:R / whole%:R)) = r ^+ n.
Proof. by rewrite -expRMm; congr expR; field. Qed.

Lemma qE : q = r ^+ parts. Proof. exact: expR_r. Qed.

Lemma limit_yes rest : (rest <= whole)%N -> (yes rest --> r ^+ rest)%classic.
Proof. by move=> le; rewrite -expR_r; exact: (bernoulli_exp_law R whole_gt0 le).1. Qed.

Lemma limit_no rest : (rest <= whole)%N -> (no rest --> 1 - r ^+ rest)%classic.
Proof. by move=> le; rewrite -expR_r; exact: (bernoulli_exp_law R whole_gt0 le).2. Qed.

Lemma expR1_r : expR (- (1%:R / 1%:R)) = r ^+ whole.
Proof. by rewrite -expR_r !divff ?oner_neq0. Qed.

Lemma limit_more : (more --> r ^+ whole)%classic.
Proof. by rewrite -expR1_r; exact: (bernoulli_exp_law R (ltn0Sn 0) (leqnn 1)).1. Qed.

Lemma limit_stop : (stop --> 1 - r ^+ whole)%classic.
Proof. by rewrite -expR1_r; exact: (bernoulli_exp_law R (ltn0Sn 0) (leqnn 1)).2. Qed.

Lemma limit_power_of (u : nat -> R) (a : R) (k : nat) : (u --> a)%classic -> ((fun n => u n ^+ k) --> a ^+ k)%classic.
Proof.
move=> ua; elim: k => [|k IH].
  by rewrite expr0; apply: (@limit_eq _ _ (fun=> 1)) => //; exact: limit_constant.
rewrite exprS; apply: (@limit_eq _ _ (fun n => u n * u n ^+ k)) => [n|]; first by rewrite exprS.
exact: limit_mul.
Qed.

Lemma geometric_sum (x : R) (n : nat) : x != 1 -> \sum_(i < n) x ^+ i = (1 - x ^+ n) / (1 - x).
Proof. by move=> x1; rewrite -[1 - _]opprB -[1 - x]opprB subrX1 invrN mulrNN mulrAC divff ?mul1r// subr_eq0. Qed.

Lemma limit_sized (m : nat) : (sized m --> E * (1 - q) * q ^+ m)%classic.
Proof.
have /andP[r0 r1] := r_bounds.
pose N := (m.+1 * parts)%N.
pose inner rest n := \sum_(k < N) more n ^+ k * stop n * (((rest + whole * k) %/ parts)%N == m)%:R.
apply: (@limit_eventually _ N _ (fun n => (\sum_(rest < whole) yes rest n * inner rest n) / whole%:R)) => [n|].
  rewrite /sized; congr (_ / _); apply: eq_bigr => rest _; congr (_ * _).
  rewrite /inner addnC big_split_ord/= [X in _ + X]big1 ?addr0// => i _.
  case: eqP => [sm|]; last by rewrite mulr0.
  have : (N %/ parts <= m)%N.
    rewrite -sm leq_div2r// (leq_trans _ (leq_addl _ _))// (leq_trans (leq_addr i N))//.
    by rewrite leq_pmull.
  by rewrite /N mulnK// ltnn.
pose F (x : nat) : R := r ^+ x * ((x %/ parts)%N == m)%:R.
pose term (rest k : nat) : R :=
  (r ^+ whole) ^+ k * (1 - r ^+ whole) * (((rest + whole * k) %/ parts)%N == m)%:R.
have -> : E * (1 - q) * q ^+ m = (\sum_(rest < whole) r ^+ rest * (\sum_(k < N) term rest k)) / whole%:R.
  have -> : \sum_(rest < whole) r ^+ rest * (\sum_(k < N) term rest k)
    = (1 - r ^+ whole) * (\sum_(x < whole * N) r ^+ x * ((x %/ parts)%N == m)%:R).
    rewrite (sum_blocks F) exchange_big mulr_sumr; apply: eq_bigr => rest _ /=.
    rewrite !mulr_sumr; apply: eq_bigr => k _.
    by rewrite /term /F exprD exprM; ring.
  have -> : (whole * N = parts * (whole * m.+1))%N by rewrite /N; lia.
  have -> : \sum_(x < parts * (whole * m.+1)) r ^+ x * ((x %/ parts)%N == m)%:R = q ^+ m * ((1 - q) / (1 - r)).
    rewrite (sum_blocks F).
    have mlt : (m < whole * m.+1)%N by rewrite leq_pmull.
    rewrite (bigD1 (Ordinal mlt))//= [X in _ + X]big1 ?addr0.
      rewrite qE -geometric_sum ?lt_eqF// mulr_sumr; apply: eq_bigr => i _.
      by rewrite /F mulnC addnC divnMDl// divn_small// addn0 eqxx mulr1 exprD -exprM mulnC mulrC.
    move=> j /eqP jm; rewrite big1// => i _.
    rewrite /F mulnC addnC divnMDl// divn_small// addn0; case: eqP => [E'|]; last by rewrite mulr0.
    by case: jm; apply: val_inj.
  rewrite /E; field.
  by rewrite whole_neq0/= subr_eq0 gt_eqF.
apply: limit_mul; last exact: limit_constant.
apply: limit_sum => rest; apply: limit_mul; first by apply: limit_yes; exact: ltnW.
apply: limit_sum => k; apply: limit_mul; last exact: limit_constant.
by apply: limit_mul; [apply: limit_power_of; exact: limit_more|exact: limit_stop].
Qed.

Lemma limit_refused : (refused --> 1 - E)%classic.
Proof.
have /andP[r0 r1] := r_bounds.
have -> : 1 - E = (\sum_(rest < whole) (1 - r ^+ rest)) / whole%:R.
  rewrite sumrB sumr_const card_ord geometric_sum ?lt_eqF// /E; field.
  by rewrite whole_neq0/= subr_eq0 gt_eqF.
apply: limit_mul; last exact: limit_constant.
by apply: limit_sum => rest; apply: limit_no; exact: ltnW.
Qed.

Theorem discrete_laplace_law (z : int) :
  ((fun n => chance R (discrete_laplace whole parts n) (pred1 z)) --> laplace q z)%classic.
Proof.
have /andP[r0 r1] := r_bounds.
have q0 : 0 < q by exact: expR_gt0.
have q1 : q < 1 by rewrite expR_lt1 oppr_lt0 divr_gt0 ?ltr0n.
have E0 : 0 < E.
  by rewrite divr_gt0 ?mulr_gt0 ?subr_gt0 ?ltr0n// exprn_ilt1 ?ltW// -lt0n.
have limit_again : (again --> 1 - E * (1 + q) / 2)%classic.
  have -> : 1 - E * (1 + q) / 2 = 2^-1 * (E * (1 - q) * q ^+ 0) + (1 - E) by rewrite expr0; field.
  apply: (limit_eq againE); apply: limit_add; last exact: limit_refused.
  by apply: limit_mul; [exact: limit_constant|exact: limit_sized].
have again1 : 1 - E * (1 + q) / 2 < 1.
  have q2 : 0 < 1 + q by rewrite addr_gt0 ?ltr01.
  by rewrite ltr_subl_addr ltr_addl; apply: divr_gt0; [exact: mulr_gt0|rewrite ltr0n].
apply: (@limit_eq _ _ (fun n => (\sum_(j < n) again n ^+ j) * answers z n)) => [n|].
  by rewrite /discrete_laplace discrete_laplace_mean mulr_suml.
have -> : laplace q z = (1 - (1 - E * (1 + q) / 2))^-1 * (2^-1 * (E * (1 - q) * q ^+ `|z|%N)).
  rewrite /laplace; field.
  have q2 : 0 < 1 + q by rewrite addr_gt0 ?ltr01.
  by rewrite opprB addrC subrK mulf_neq0 ?gt_eqF.
apply: limit_mul; first exact: limit_geometric_sum again_ge0 again1 limit_again.
apply: (limit_eq (answersE z)); apply: limit_mul; [exact: limit_constant|exact: limit_sized].
Qed.

End Law.
