(* A coin with chance exp(-above/below): _with_chance_exp in src/symveil/randomness/choices.py (docs/theory/central.md,
   "Exact noise"; Canonne, Kamath and Steinke, algorithm 1).

   The function counts how often in a row a uniform number below `below * step` is less than `above`, step = 1, 2, 3 ...,
   and says yes if the step that ended it is odd. The model is the same loop, Pending after `rounds` draws.

   bernoulli_exp_law: for above <= below it says yes with a probability that tends to exp(-above/below), and no with one
     that tends to 1 - exp(-above/below). *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals topology normedtype sequences exp.
From mathcomp Require Import ring.
From symveil Require Import limits draws.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Fixpoint chance_exp_from (above below step rounds : nat) : draw bool :=
  if rounds is r.+1
  then Uniform (below * step)
         (fun drawn => if (drawn < above)%N then chance_exp_from above below step.+1 r else Return (odd step))
  else Pending.

Definition with_chance_exp (above below rounds : nat) : draw bool := chance_exp_from above below 1 rounds.

Section BernoulliExp.
Variables (R : realType) (above below : nat).
Hypotheses (below_gt0 : (0 < below)%N) (le1 : (above <= below)%N).
Let gamma : R := above%:R / below%:R.

Lemma sum_below (T : zmodType) (m n : nat) (x y : T) : (m <= n)%N ->
  \sum_(i < n) (if (i < m)%N then x else y) = x *+ m + y *+ (n - m).
Proof.
move=> mn; rewrite -(big_mkord xpredT (fun i => if (i < m)%N then x else y)) (big_cat_nat _ (n := m))//=.
rewrite (eq_big_nat _ _ (F2 := fun=> x)); last by move=> i /andP[_ ->].
rewrite [X in _ + X](eq_big_nat _ _ (F2 := fun=> y)); last by move=> i /andP[mi _]; rewrite ltnNge mi.
by rewrite !sumr_const_nat subn0.
Qed.

(* What the first n rounds have answered yes and no *)
Let c (n : nat) : R := exp_coeff gamma n.
Let S (n : nat) : R := series (exp_coeff (- gamma)) n.

Lemma mean_step (step r : nat) (g : bool -> R) : (0 < step)%N ->
  mean (chance_exp_from above below step r.+1) g
  = gamma / step%:R * mean (chance_exp_from above below step.+1 r) g + (1 - gamma / step%:R) * g (odd step).
Proof.
move=> s0; rewrite [LHS]/=.
have le : (above <= below * step)%N by rewrite (leq_trans le1)// leq_pmulr.
have -> : \sum_(i < below * step)
    mean (if (i < above)%N then chance_exp_from above below step.+1 r else Return (odd step)) g
  = \sum_(i < below * step) (if (i < above)%N then mean (chance_exp_from above below step.+1 r) g else g (odd step)).
  by apply: eq_bigr => i _; case: ifP.
rewrite sum_below// -[X in X + _]mulr_natr -[X in _ + X]mulr_natr natrB// natrM /gamma; field.
by rewrite !pnatr_eq0 -!lt0n below_gt0 s0.
Qed.

Lemma exp_coeffS (x : R) (n : nat) : exp_coeff x n.+1 = exp_coeff x n * (x / n.+1%:R).
Proof.
rewrite !exp_coeffE /= exprS factS natrM; field.
by rewrite -mulrS !pnatr_eq0 -!lt0n fact_gt0.
Qed.

Lemma mean_after (s r : nat) (g : bool -> R) :
  c s * mean (chance_exp_from above below s.+1 r) g = \sum_(s <= j < s + r) (c j - c j.+1) * g (~~ odd j).
Proof.
elim: r s => [|r IH] s; first by rewrite addn0 big_geq//= mulr0.
rewrite mean_step// big_ltn ?addnS ?leq_addr// -addSn -IH.
rewrite [c s.+1]exp_coeffS -/(c s) /=; field.
by rewrite -mulrS pnatr_eq0.
Qed.

Lemma mean_with_chance_exp (n : nat) (g : bool -> R) :
  mean (with_chance_exp above below n) g = \sum_(0 <= j < n) (c j - c j.+1) * g (~~ odd j).
Proof. by rewrite -mean_after /c exp_coeffE /= expr0 mulr1 invr1 mul1r. Qed.

Lemma coeffN (n : nat) : exp_coeff (- gamma) n = (-1) ^+ n * c n.
Proof.
rewrite /c !exp_coeffE /= [(- gamma) ^+ n]exprNn.
by rewrite mulrCA.
Qed.

Lemma yes_mean (n : nat) (y z : R) :
  mean (with_chance_exp above below n) (fun b => if b then y else z)
  = y * ((S n + S n.+1 - c n) / 2) + z * (1 - c n - (S n + S n.+1 - c n) / 2).
Proof.
rewrite mean_with_chance_exp.
elim: n => [|n IH].
  rewrite big_geq// /S /series /= big_geq// big_nat1 /c !exp_coeffE /= !expr0 !mulr1 invr1; by field.
rewrite big_nat_recr//= IH /S ![series _ _.+2]seriesSr ![series _ _.+1]seriesSr !coeffN !exprS -![(-1) ^+ n]signr_odd.
case: (odd n) => /=; rewrite ?expr1 ?expr0; by field.
Qed.

Theorem bernoulli_exp_law :
  ((fun n => chance R (with_chance_exp above below n) (pred1 true)) --> expR (- gamma))%classic /\
  ((fun n => chance R (with_chance_exp above below n) (pred1 false)) --> 1 - expR (- gamma))%classic.
Proof.
have cS : (S --> expR (- gamma))%classic by exact: (@is_cvg_series_exp_coeff R (- gamma)).
have cS1 : ((fun n => S n.+1) --> expR (- gamma))%classic by rewrite (cvg_shiftS S).
have cc : (c --> (0 : R))%classic by exact: cvg_exp_coeff.
have cA : ((fun n => (S n + S n.+1 - c n) / 2) --> expR (- gamma))%classic.
  rewrite (_ : expR (- gamma) = (expR (- gamma) + expR (- gamma) - 0) / 2); last by field.
  by apply: limit_mul; [apply: limit_sub; [exact: limit_add|exact: cc]|exact: limit_constant].
split.
  apply: (@limit_eq _ _ (fun n => (S n + S n.+1 - c n) / 2)) => [n|//].
  rewrite /chance (@eq_mean _ _ _ _ (fun b : bool => if b then 1 else 0)); last by case.
  by rewrite yes_mean mul1r mul0r addr0.
apply: (@limit_eq _ _ (fun n => 1 - c n - (S n + S n.+1 - c n) / 2)) => [n|].
  rewrite /chance (@eq_mean _ _ _ _ (fun b : bool => if b then 0 else 1)); last by case.
  by rewrite yes_mean mul0r add0r mul1r.
have -> : 1 - expR (- gamma) = 1 - 0 - expR (- gamma) by rewrite subr0.
by apply: limit_sub; [apply: limit_sub; [exact: limit_constant|exact: cc]|exact: cA].
Qed.

End BernoulliExp.
