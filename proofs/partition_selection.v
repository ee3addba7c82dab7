(* Cells that nobody has listed, for a delta (docs/theory/central.md, Theorem 5.4): Query.threshold in src/symveil/central/noise.py
   and src/symveil/central/unlisted_cells.py.

   A file D has the cells in `old`, with the sums c. The file D' has the records of one person more: its sums are c', and it has
   the cells in `new` too, to which this person alone adds. A cell that occurs draws y = sum + discrete Laplace noise and is shown with
   y if y >= t; others are not shown. The person adds at most A = L M to all cells together, at most L of which are new.

   hidden_but_delta: if t >= A and (exp(epsilon) + L - 1) q^t / (1 + q) <= delta, q = exp(-epsilon/A), the probability that any new cell is
     shown is at most delta. (The sum over the cells is convex in what is added to each, so it is largest where one has everything.)
   partition_selection: then P(D' in F) <= exp(epsilon) P(D in F) + delta, and the same with D and D' exchanged, for every event F.

   Events: a cell shows a value of a finite set V of whole numbers, or nothing, and F is any set of such answers. V is arbitrary, and the
   probabilities are those of the law on all whole numbers; so this is the claim for every finite event, and each event is the limit of
   finite ones. Not part of this file: the order in which the first L cells of a person are taken (it is drawn per person from the release key
   and is the same for D and D'; probabilities are taken given it), and the rounding with which t is computed. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp Require Import ring zify.
From symveil Require Import loss laplace central_noise.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Tail.
Variables (R : realType) (q : R).
Hypotheses (q0 : 0 < q) (q1 : q < 1).
Let p0 : 0 < 1 + q. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Let qle k : q ^+ k <= 1. Proof. by rewrite exprn_ile1 ?ltW. Qed.

Lemma at_least_bounds m : 0 <= at_least q m <= 1.
Proof.
have h k : 0 <= q ^+ k / (1 + q) <= 1.
  rewrite divr_ge0 ?exprn_ge0 ?(ltW q0) ?(ltW p0)//= ler_pdivr_mulr// mul1r.
  by apply: le_trans (qle k) _; rewrite ler_addl (ltW q0).
case: m => k /=; first exact: h.
by have /andP[a b] := h k.+2; rewrite subr_ge0 b ger_addl oppr_le0.
Qed.

(* The probability of less than m *)
Definition below (m : int) : R := 1 - at_least q m.

Lemma below_ge0 m : 0 <= below m. Proof. by rewrite subr_ge0; case/andP: (at_least_bounds m). Qed.
Lemma below_le1 m : below m <= 1. Proof. by rewrite ger_addl oppr_le0; case/andP: (at_least_bounds m). Qed.

Lemma below_step m : below m <= below (m + 1) /\ below (m + 1) <= q^-1 * below m.
Proof.
have p1 : 1 + q != 0 by rewrite gt_eqF.
split; rewrite /below.
  by rewrite ler_add2l ler_opp2 -subr_ge0 -laplace_at_least// ltW// laplace_gt0.
rewrite ler_pdivl_mull// -subr_ge0; case: m => [k|[|k]].
- have -> : Posz k + 1 = Posz k.+1 by rewrite -addn1 PoszD.
  rewrite (_ : _ - _ = (1 - q) * (1 - q ^+ k)); last by rewrite /= exprS; field.
  by rewrite mulr_ge0 ?subr_ge0 ?(ltW q1) ?qle.
- by rewrite (_ : _ - _ = 0) ?lexx//= !exprS expr0; field.
- have -> : Negz k.+1 + 1 = Negz k by rewrite !NegzE -addn1 PoszD opprD addrNK.
  by rewrite (_ : _ - _ = 0) ?lexx//= !exprS; field.
Qed.

Lemma below_ratio (m m' : int) : below m <= q^-1 ^+ `|m - m'|%N * below m'.
Proof.
have up n x : below x <= below (x + n%:Z).
  elim: n => [|n IH]; first by rewrite addr0 lexx.
  by apply: le_trans IH _; rewrite -addn1 PoszD addrA; case: (below_step (x + n%:Z)).
have down n x : below (x + n%:Z) <= q^-1 ^+ n * below x.
  elim: n => [|n IH]; first by rewrite addr0 expr0 mul1r lexx.
  rewrite -addn1 PoszD addrA addn1 exprS -mulrA.
  apply: le_trans (below_step (x + n%:Z)).2 _.
  by rewrite ler_wpmul2l ?invr_ge0 ?(ltW q0).
have [mm'|mm'] := leP m' m.
  have -> : m = m' + `|m - m'|%N%:Z by lia.
  by rewrite [X in _ ^+ absz X]addrAC subrr add0r absz_nat down.
apply: (@le_trans _ _ (below m')); first by have -> : m' = m + `|m' - m|%N%:Z by lia.
by rewrite ler_pemull ?below_ge0 ?exprn_ege1 ?invf_ge1 ?(ltW q1).
Qed.

Lemma sum_shown (V : finType) (val : V -> int) (t a : int) : injective val ->
  \sum_(v | t <= val v) laplace q (val v - a) <= at_least q (t - a).
Proof.
move=> inj; pose N := (\max_v `|(val v - t)%R|).+1.
have idx v : (`|(val v - t)%R| < N)%N by rewrite ltnS (leq_bigmax v).
rewrite (partition_big (fun v => Ordinal (idx v)) xpredT)//=.
apply: (@le_trans _ _ (\sum_(i < N) laplace q (t - a + i%:Z))); last first.
  by rewrite sum_laplace// ger_addl oppr_le0; case/andP: (at_least_bounds (t - a + N%:Z)).
apply: ler_sum => i _.
have [v /andP[tv /eqP iv]|none] := pickP (fun v => (t <= val v) && (Ordinal (idx v) == i)); last first.
  by rewrite big_pred0// ltW// laplace_gt0.
rewrite (big_pred1 v) => [|v'].
  by rewrite -iv /= (_ : val v - a = t - a + `|val v - t|%N%:Z) ?lexx//; lia.
apply/idP/eqP => [/andP[tv' /eqP iv']|->]; last by rewrite tv iv eqxx.
apply: inj; have : `|val v' - t|%N = `|val v - t|%N by have := congr1 (@nat_of_ord _) iv'; rewrite -iv.
by lia.
Qed.
End Tail.

Lemma prod_one_minus (R : realFieldType) (I : Type) (s : seq I) (P : pred I) (p : I -> R) : (forall i, 0 <= p i <= 1) ->
  0 <= \prod_(i <- s | P i) (1 - p i) <= 1 /\ 1 - \sum_(i <- s | P i) p i <= \prod_(i <- s | P i) (1 - p i).
Proof.
move=> h; elim/big_rec2: _ => [|i y x _ [/andP[x0 x1] xy]]; first by rewrite ler01 lexx subr0 lexx.
have /andP[a b] := h i; have c : 0 <= 1 - p i by rewrite subr_ge0.
have d : (1 - p i) * x <= x by apply: ler_pimull => //; rewrite ger_addl oppr_le0.
have e : p i * x <= p i by exact: ler_pimulr.
split; first by rewrite mulr_ge0//= (le_trans d).
rewrite -subr_ge0 (_ : _ - _ = (x - (1 - y)) + (p i - p i * x)); last by ring.
by rewrite addr_ge0// subr_ge0.
Qed.

Lemma prod_le1 (R : realFieldType) (I : finType) (P : pred I) (u : I -> R) :
  (forall i, 0 <= u i <= 1) -> \prod_(i | P i) u i <= 1.
Proof.
move=> h; suff /andP[] : 0 <= \prod_(i | P i) u i <= 1 by [].
apply: (big_ind (fun x => 0 <= x <= 1)) => [|x y /andP[x0 x1] /andP[y0 y1]|i _]; first by rewrite ler01 lexx.
  by rewrite mulr_ge0//= mulr_ile1.
exact: h.
Qed.

Section Selection.
Variables (R : realType) (C V : finType) (val : V -> int) (epsilon delta : R) (L A : nat) (t : int).
Variables (old new : {set C}) (c c' : C -> int).
Hypotheses (val_inj : injective val) (epsilon_gt0 : 0 < epsilon) (A_gt0 : (0 < A)%N).
Hypothesis apart : forall x, x \in old -> x \notin new.
Hypothesis new_few : (#|new| <= L)%N.
Hypothesis new_ge0 : forall x, x \in new -> 0 <= c' x.
Hypothesis person : (\sum_(x in old) `|c x - c' x| + \sum_(x in new) `|c' x| <= A)%N.
Let q : R := expR (- (epsilon / A%:R)).
Hypothesis t_large : A%:Z <= t.
Hypothesis t_delta : (expR epsilon + L%:R - 1) * q ^+ `|t|%N / (1 + q) <= delta.

(* What a cell with the sum a shows with which probability; None: it is not shown *)
Definition shows (a : int) (o : option V) : R :=
  match o with Some v => if t <= val v then laplace q (val v - a) else 0 | None => below q (t - a) end.
Definition absent (o : option V) : R := (o == None)%:R.

(* The law of all cells: of D with `old`, of D' with both *)
Definition table (cells : {set C}) (sums : C -> int) (y : {ffun C -> option V}) : R :=
  \prod_x (if x \in cells then shows (sums x) (y x) else absent (y x)).
Definition chance_of (cells : {set C}) (sums : C -> int) (F : {set {ffun C -> option V}}) : R :=
  \sum_(y in F) table cells sums y.

Let q0 : 0 < q. Proof. exact: expR_gt0. Qed.
Let q1 : q < 1. Proof. by rewrite expR_lt1 oppr_lt0 divr_gt0// ltr0n. Qed.
Let p0 : 0 < 1 + q. Proof. by rewrite addr_gt0 ?ltr01. Qed.
Let Q : R := q^-1.
Let Q_ge1 : 1 <= Q. Proof. by rewrite invf_ge1 ?(ltW q1). Qed.

Lemma Q_A : Q ^+ A = expR epsilon.
Proof.
rewrite /Q -expRN opprK -expRMm; congr expR.
by rewrite mulrCA divff ?mulr1// pnatr_eq0 -lt0n.
Qed.

(* A chord of a convex power *)
Lemma power_slope (a : nat) : Q ^+ a - 1 <= a%:R * Q ^+ a * (Q - 1).
Proof.
have Q0 : 0 <= Q - 1 by rewrite subr_ge0.
have Q0' k : 0 <= Q ^+ k by rewrite exprn_ge0// invr_ge0 ltW.
elim: a => [|a IH]; first by rewrite expr0 subrr !mul0r lexx.
apply: (@le_trans _ _ (a.+1%:R * Q ^+ a * (Q - 1))).
  rewrite exprS [a.+1%:R]mulrSr (_ : Q * Q ^+ a - 1 = (Q ^+ a - 1) + Q ^+ a * (Q - 1)); last by ring.
  by rewrite mulrDl mul1r mulrDl ler_add2r.
by rewrite ler_wpmul2r// ler_wpmul2l ?ler0n// exprS ler_pemull.
Qed.

Lemma power_chord (a : nat) : (a <= A)%N -> A%:R * (Q ^+ a - 1) <= a%:R * (expR epsilon - 1).
Proof.
rewrite -Q_A => /subnKC <-; elim: (A - a)%N => [|k IH]; first by rewrite addn0 lexx.
have Q0 : 0 <= Q - 1 by rewrite subr_ge0.
have s : Q ^+ a - 1 <= a%:R * (Q ^+ (a + k) * (Q - 1)).
  apply: le_trans (power_slope a) _; rewrite -mulrA ler_wpmul2l ?ler0n// ler_wpmul2r//.
  by apply: ler_weexpn2l => //; exact: leq_addr.
rewrite addnS [(a + k).+1%:R]mulrSr exprS.
move: IH s; move: (Q ^+ (a + k)) (Q ^+ a) (a%:R : R) ((a + k)%:R : R) => u v x y IH s.
have E : x * (Q * u - 1) - (y + 1) * (v - 1) = (x * (u - 1) - y * (v - 1)) + (x * (u * (Q - 1)) - (v - 1)) by ring.
by rewrite -subr_ge0 E addr_ge0// subr_ge0.
Qed.

Theorem hidden_but_delta : \sum_(x in new) at_least q (t - c' x) <= delta.
Proof.
have A_pos : 0 < A%:R :> R by rewrite ltr0n.
have new_le x : x \in new -> (`|c' x| <= A)%N.
  move=> xn; apply: leq_trans person; apply: leq_trans (leq_addl _ _).
  by rewrite (bigD1 x)//= leq_addr.
have tail x : x \in new -> at_least q (t - c' x) = Q ^+ `|c' x|%N * (q ^+ `|t|%N / (1 + q)).
  move=> xn; have a0 := new_ge0 xn; have aA := new_le x xn.
  have [k tk] : exists k : nat, t - c' x = Posz k by exists `|(t - c' x)%R|%N; lia.
  have -> : (`|t| = `|c' x| + k)%N by lia.
  rewrite tk /= exprD mulrA mulrA /Q exprVn mulVf ?mul1r// expf_neq0// gt_eqF//.
rewrite (eq_bigr _ tail) -mulr_suml.
have c0 : 0 <= q ^+ `|t|%N / (1 + q) by rewrite divr_ge0 ?exprn_ge0 ?(ltW q0) ?(ltW p0).
apply: le_trans t_delta; rewrite -mulrA ler_wpmul2r//.
have e1 : 0 <= expR epsilon - 1 by rewrite subr_ge0 ltW// expR_gt1.
have each x : x \in new -> Q ^+ `|c' x|%N <= 1 + (`|c' x|%N)%:R / A%:R * (expR epsilon - 1).
  by move=> /new_le/power_chord h; rewrite -ler_subl_addl mulrAC ler_pdivl_mulr// [leLHS]mulrC.
apply: (@le_trans _ _ (\sum_(x in new) (1 + (`|c' x|%N)%:R / A%:R * (expR epsilon - 1)))).
  by apply: ler_sum => x xn; exact: each.
rewrite big_split /= sumr_const -mulr_suml -mulr_suml -natr_sum.
have -> : expR epsilon + L%:R - 1 = L%:R + (expR epsilon - 1) by ring.
apply: ler_add; first by rewrite ler_nat.
rewrite ler_pimull// ler_pdivr_mulr// mul1r ler_nat.
by apply: leq_trans person; exact: leq_addl.
Qed.

Lemma shows_ge0 a o : 0 <= shows a o.
Proof. by case: o => [v|] /=; rewrite ?below_ge0//; case: ifP => _; rewrite ?lexx// ltW// laplace_gt0. Qed.

Lemma absent_ge0 o : 0 <= absent o. Proof. exact: ler0n. Qed.

Lemma sum_option (f : option V -> R) : \sum_o f o = f None + \sum_v f (Some v).
Proof.
rewrite (bigD1 None)//=; congr (_ + _).
rewrite (reindex_omap Some id)//=; last by case.
by apply: eq_bigl => v; rewrite eqxx.
Qed.

Lemma sum_some a : \sum_v shows a (Some v) <= at_least q (t - a).
Proof. by rewrite /= -big_mkcond; exact: sum_shown. Qed.

Lemma sum_shows a : \sum_o shows a o <= 1.
Proof. by rewrite sum_option /= -[leRHS](subrK (at_least q (t - a))) ler_add2l; exact: sum_some. Qed.

Lemma sum_absent : \sum_o absent o = 1.
Proof. by rewrite sum_option /absent eqxx big1 ?addr0. Qed.

(* One cell, with and without the person *)
Lemma shows_ratio a a' o : shows a o <= Q ^+ `|a - a'|%N * shows a' o.
Proof.
case: o => [v|] /=; last by have := below_ratio q0 q1 (t - a) (t - a'); rewrite (_ : `|_|%N = `|a - a'|%N)//; lia.
by case: ifP => _; [exact: laplace_ratio|rewrite mulr0 lexx].
Qed.

Definition hides (y : {ffun C -> option V}) := [forall x in new, y x == None].

Lemma table_ge0 cells sums y : 0 <= table cells sums y.
Proof. by apply: prodr_ge0 => x _; case: ifP => _; rewrite ?shows_ge0 ?absent_ge0. Qed.

Lemma old_ratio (a a' : C -> int) y : (\sum_(x in old) `|a x - a' x| <= A)%N ->
  table old a y <= expR epsilon * table old a' y.
Proof.
move=> h; apply: (@le_trans _ _ ((\prod_(x in old) Q ^+ `|a x - a' x|%N) * table old a' y)).
  rewrite /table [X in X * _]big_mkcond -big_split /=; apply: ler_prod => x _.
  by case: ifP => _; rewrite ?shows_ge0 ?shows_ratio ?absent_ge0 ?mul1r ?lexx.
rewrite ler_wpmul2r ?table_ge0// -Q_A prodrXr.
by apply: ler_weexpn2l.
Qed.

Lemma cell_sum (cells : {set C}) (sums : C -> int) x :
  \sum_o (if x \in cells then shows (sums x) o else absent o) <= 1.
Proof. by case: (x \in cells); [exact: sum_shows|rewrite sum_absent lexx]. Qed.

(* The probability of an event about one cell *)
Lemma one_cell (cells : {set C}) (sums : C -> int) x (E : pred (option V)) :
  \sum_(y : {ffun C -> option V} | E (y x)) table cells sums y
    <= \sum_(o | E o) (if x \in cells then shows (sums x) o else absent o).
Proof.
pose g z o := (if z \in cells then shows (sums z) o else absent o).
have g0 z o : 0 <= g z o by rewrite /g; case: ifP => _; rewrite ?shows_ge0 ?absent_ge0.
pose f z o := if (z == x) && ~~ E o then 0 else g z o.
have f0 z o : 0 <= f z o by rewrite /f; case: ifP.
apply: (@le_trans _ _ (\sum_(y : {ffun C -> option V}) \prod_z f z (y z))).
  rewrite big_mkcond; apply: ler_sum => y _; case: ifP => Ey; last by apply: prodr_ge0.
  apply: ler_prod => z _; rewrite -/(g z (y z)) g0 /f.
  by case: eqP => [->|_] /=; rewrite ?Ey lexx.
rewrite -(bigA_distr_bigA f) (bigD1 x)//=.
rewrite [leRHS]big_mkcond /= -[leRHS]mulr1; apply: ler_pmul.
- by apply: sumr_ge0.
- by apply: prodr_ge0 => z _; apply: sumr_ge0.
- by apply: ler_sum => o _; rewrite /f eqxx /=; case: (E o); rewrite /= lexx.
- apply: prod_le1 => z; rewrite sumr_ge0//= (le_trans _ (cell_sum cells sums z))//; apply: ler_sum => o _.
  by rewrite -/(g z o) /f; case: ifP; rewrite ?lexx.
Qed.

Let both := old :|: new.

Lemma table_hides sums y : hides y ->
  table both sums y = table old sums y * \prod_(x in new) (1 - at_least q (t - sums x)).
Proof.
move=> /forall_inP hy; rewrite /table [X in _ * X]big_mkcond -big_split /=; apply: eq_bigr => x _.
rewrite /both in_setU; case xo: (x \in old) => /=; first by rewrite (negbTE (apart xo)) mulr1.
case: ifP => xn; last by rewrite mulr1.
by rewrite (eqP (hy x xn)) /= /absent eqxx mul1r.
Qed.

Lemma table_old_hides sums y : ~~ hides y -> table old sums y = 0.
Proof.
rewrite negb_forall_in => /exists_inP[x xn yx]; rewrite /table (bigD1 x)//=.
have -> : (x \in old) = false by apply/negP => /apart; rewrite xn.
by rewrite /absent (negbTE yx) mul0r.
Qed.

Lemma new_bounds : 0 <= \prod_(x in new) (1 - at_least q (t - c' x)) <= 1 /\
  1 - delta <= \prod_(x in new) (1 - at_least q (t - c' x)).
Proof.
have [h1 h2] := prod_one_minus (index_enum C) (mem new) (fun x => at_least_bounds q0 q1 (t - c' x)).
split=> //; apply: le_trans h2; rewrite ler_add2l ler_opp2.
exact: hidden_but_delta.
Qed.

Lemma not_hidden : \sum_(y : {ffun C -> option V} | ~~ hides y) table both c' y <= delta.
Proof.
apply: le_trans hidden_but_delta.
apply: (@le_trans _ _ (\sum_(x in new) \sum_(y : {ffun C -> option V} | y x != None) table both c' y)).
  rewrite (exchange_big_dep xpredT)//= big_mkcond; apply: ler_sum => y _.
  case: ifP => [|_]; last by apply: sumr_ge0 => x _; exact: table_ge0.
  rewrite negb_forall_in => /exists_inP[x xn yx]; rewrite (bigD1 x) ?xn//= ler_addl.
  by apply: sumr_ge0 => z _; exact: table_ge0.
apply: ler_sum => x xn; apply: le_trans (one_cell both c' x (fun o => o != None)) _.
rewrite /both in_setU xn orbT big_mkcond sum_option /= add0r.
exact: sum_some.
Qed.

Let old_close : (\sum_(x in old) `|c x - c' x| <= A)%N.
Proof. by apply: leq_trans person; exact: leq_addr. Qed.

Let old_close' : (\sum_(x in old) `|c' x - c x| <= A)%N.
Proof. by under eq_bigr do rewrite distnC; exact: old_close. Qed.

Theorem partition_selection (F : {set {ffun C -> option V}}) : 0 <= delta ->
  chance_of both c' F <= expR epsilon * chance_of old c F + delta /\
  chance_of old c F <= expR epsilon * chance_of both c' F + delta.
Proof.
move=> delta0; have [/andP[H0 H1] H2] := new_bounds.
set H := \prod_(x in new) _ in H0 H1 H2.
have e0 : 0 <= expR epsilon by rewrite ltW// expR_gt0.
split.
  rewrite /chance_of (bigID hides)/= ler_add//; last first.
    apply: le_trans not_hidden; rewrite [leLHS]big_mkcond [leRHS]big_mkcond; apply: ler_sum => y _.
    by case: ifP => [/andP[_ ->]|_]; rewrite ?lexx//; case: ifP => _; rewrite ?lexx ?table_ge0.
  rewrite mulr_sumr [leLHS]big_mkcond [leRHS]big_mkcond; apply: ler_sum => y _.
  case: ifP => [/andP[-> hy]|_]; last by case: ifP => _; rewrite ?lexx ?mulr_ge0 ?table_ge0.
  rewrite table_hides// -/H; apply: (@le_trans _ _ (table old c' y)); last exact: old_ratio.
  by rewrite ler_pimulr ?table_ge0.
have hidden_sum : chance_of old c F = \sum_(y in F | hides y) table old c y.
  rewrite /chance_of (bigID hides)/= [X in _ + X]big1 ?addr0// => y /andP[_ ny].
  exact: table_old_hides.
have x1 : chance_of old c F <= 1.
  apply: (@le_trans _ _ (\sum_(y : {ffun C -> option V}) table old c y)).
    by rewrite /chance_of big_mkcond; apply: ler_sum => y _; case: ifP => _; rewrite ?lexx ?table_ge0.
  rewrite -(bigA_distr_bigA (fun x o => if x \in old then shows (c x) o else absent o)).
  apply: prod_le1 => x.
  by rewrite cell_sum andbT; apply: sumr_ge0 => o _; case: ifP => _; rewrite ?shows_ge0 ?absent_ge0.
have x0 : 0 <= chance_of old c F by apply: sumr_ge0 => y _; exact: table_ge0.
have low : H * chance_of old c F <= expR epsilon * chance_of both c' F.
  rewrite hidden_sum !mulr_sumr [leLHS]big_mkcond [leRHS]big_mkcond; apply: ler_sum => y _.
  case: ifP => [/andP[-> hy]|_]; last by case: ifP => _; rewrite ?lexx ?mulr_ge0 ?table_ge0.
  by rewrite table_hides// -/H mulrA [leRHS]mulrC ler_wpmul2l//; exact: old_ratio.
have -> : chance_of old c F = H * chance_of old c F + (1 - H) * chance_of old c F by ring.
apply: ler_add => //; apply: (@le_trans _ _ (1 - H)).
  by apply: ler_pimulr => //; rewrite subr_ge0.
by rewrite ler_subl_addl addrC -ler_subl_addl.
Qed.
End Selection.
