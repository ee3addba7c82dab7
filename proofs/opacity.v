(* Opacity: what an observer can conclude (docs/concepts/opacity.md, docs/theory/chains-and-opacity.md).

   A system has finitely many states, silent moves and moves by observable events. A run is a list of moves, each with its
   event (None: silent) and the state after it; its observation is the list of its observable events. possible i s q says
   that some run with observation s, from an initial state, is in state q in its instant i: after its i-th observable event
   and before the next one, silent moves included. This is E_i(s) of the definitions.

   estimate_possible: the observer (start with all initial states and what is silently reached from them; after an event take
     all its moves, and what is silently reached) has exactly the states of E_m(s) after the m events of s.
   current_state_opacity: so the system is current-state opaque iff the observer meets no non-empty estimate of secret states.
   two_way_product: E_i(s) is the observer's estimate after the first i events, restricted to the states that the observer of
     the reversed system has after the others, read backwards.
   delayed_violation: E_i(s) has secret states only iff nothing is left of the states that were not secret in instant i, and
     what is silently reached from them, after the remaining events: what WeakEstimator in
     src/symveil/verification/opacity/estimators.py follows.
   weak_k_step_opacity: the system is weakly k-step opaque iff the estimator that keeps the last k + 1 of these sets never
     holds an empty one while some run has the observation. infinite_step_opacity: the same with all of them.

   The estimator of the code drops sets that can become empty no earlier than another one (a set equal to the whole estimate,
   or one that contains a younger set); that these cannot matter is not part of this file. *)

From mathcomp Require Import all_ssreflect.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Opacity.
Variables (Q : finType) (E : eqType) (silent : rel Q) (move : E -> rel Q) (initial secret : {set Q}).
Implicit Types (q : Q) (X Y : {set Q}) (s t : seq E) (r : seq (option E * Q)).

(* Runs *)
Definition one_move (e : option E) : rel Q := if e is Some a then move a else silent.
Fixpoint run q r : bool := if r is (e, q') :: rest then one_move e q q' && run q' rest else true.
Definition end_of q r : Q := last q (map snd r).
Definition observation r : seq E := pmap fst r.

Definition possible (i : nat) s q := exists q0 r r',
  [/\ q0 \in initial, run q0 (r ++ r'), observation (r ++ r') = s, size (observation r) = i & end_of q0 r = q].

(* The observer *)
Definition reach X : {set Q} := [set q | [exists x in X, connect silent x q]].
Definition moved (a : E) X : {set Q} := [set q | [exists x in X, move a x q]].
Definition step X (a : E) : {set Q} := reach (moved a X).
Definition after X s : {set Q} := foldl step X s.
Definition estimate s : {set Q} := after (reach initial) s.

Lemma run_cat q r r' : run q (r ++ r') = run q r && run (end_of q r) r'.
Proof. by elim: r q => //= -[e q'] r IH q /=; rewrite IH andbA. Qed.

Lemma end_of_cat q r r' : end_of q (r ++ r') = end_of (end_of q r) r'.
Proof. by rewrite /end_of map_cat last_cat. Qed.

Lemma observation_cat r r' : observation (r ++ r') = observation r ++ observation r'.
Proof. exact: pmap_cat. Qed.

Lemma in_reach X q : reflect (exists2 x, x \in X & connect silent x q) (q \in reach X).
Proof. by rewrite inE; exact: exists_inP. Qed.

Lemma in_moved a X q : reflect (exists2 x, x \in X & move a x q) (q \in moved a X).
Proof. by rewrite inE; exact: exists_inP. Qed.

(* Silent runs are those without an observation *)
Lemma connect_run q q' : connect silent q q' ->
  exists r, [/\ run q r, observation r = [::] & end_of q r = q'].
Proof.
case/connectP=> p; elim: p q => [|x p IH] q /=; first by move=> _ ->; exists [::].
by case/andP=> qx /IH h /h[r [rr ro re]]; exists ((None, x) :: r); rewrite /= qx rr.
Qed.

Lemma run_connect q r : run q r -> observation r = [::] -> connect silent q (end_of q r).
Proof.
elim: r q => [q _ _|[[a|] q'] r IH q //=]; first exact: connect0.
by case/andP=> qq' /IH h /h; apply: connect_trans; exact: connect1.
Qed.

(* What comes after a set that is closed under silent moves *)
Lemma afterP X s q : reflect (exists2 x, x \in X & exists r, [/\ run x r, observation r = s & end_of x r = q])
                             (q \in after (reach X) s).
Proof.
elim: s X => [|a s IH] X /=.
  apply: (iffP (in_reach X q)) => -[x xX].
    by move=> /connect_run[r h]; exists x => //; exists r.
  by case=> r [rr ro <-]; exists x => //; exact: run_connect.
apply: (iffP (IH _)) => -[x].
  case/in_moved=> y /in_reach[z zX /connect_run[r [rr ro re]]] yx [r' [rr' ro' re']].
  exists z => //; exists (r ++ (Some a, x) :: r'); split.
  - by rewrite run_cat rr /= re yx rr'.
  - by rewrite observation_cat ro /= ro'.
  - by rewrite end_of_cat re.
move=> xX [r [rr ro re]].
suff [y [z [r' [xy yz rr' ro' re']]]] :
    exists y z r', [/\ connect silent x y, move a y z, run z r', observation r' = s & end_of z r' = q].
  by exists z; [apply/in_moved; exists y => //; apply/in_reach; exists x|exists r'].
elim: r x rr ro re {xX} => [|[[b|] x'] r IHr] x //= /andP[xx' rr].
  by case=> <- ro re; exists x, x', r; rewrite connect0.
move=> ro re; have [y [z [r' [h yz rr' ro' re']]]] := IHr _ rr ro re.
by exists y, z, r'; split=> //; apply: connect_trans h; exact: connect1.
Qed.

Lemma after_subset X Y s : X \subset Y -> after (reach X) s \subset after (reach Y) s.
Proof. by move=> /subsetP XY; apply/subsetP => q /afterP[x /XY xY h]; apply/afterP; exists x. Qed.

(* Some run with this observation starts in q *)
Definition goes_on q t := exists2 r, run q r & observation r = t.

Lemma goes_onP q t : reflect (goes_on q t) (after (reach [set q]) t != set0).
Proof.
apply: (iffP (set0Pn _)) => [[q' /afterP[x]]|[r rr ro]].
  by rewrite inE => /eqP-> [r [rr ro _]]; exists r.
by exists (end_of q r); apply/afterP; exists q; rewrite ?set11//; exists r.
Qed.

Lemma possibleE i s q : possible i s q <-> [/\ (i <= size s)%N, q \in estimate (take i s) & goes_on q (drop i s)].
Proof.
split=> [[q0 [r [r' [q0i]]]]|[im /afterP[q0 q0i [r [rr ro re]]] [r' rr' ro']]].
  rewrite run_cat observation_cat => /andP[rr rr'] <- <- <-.
  rewrite size_cat leq_addr take_size_cat// drop_size_cat//; split=> //; last by exists r'.
  by apply/afterP; exists q0 => //; exists r.
exists q0, r, r'; rewrite run_cat observation_cat rr ro ro' re rr' cat_take_drop.
by rewrite size_takel.
Qed.

Theorem estimate_possible s q : q \in estimate s <-> possible (size s) s q.
Proof.
rewrite possibleE take_size drop_size leqnn; split=> [qs|[]//].
by split=> //; exists [::].
Qed.

Definition violates (i : nat) s := (exists q, possible i s q) /\ forall q, possible i s q -> q \in secret.

Theorem current_state_opacity :
  (forall s, ~ violates (size s) s) <-> (forall s, estimate s != set0 -> ~~ (estimate s \subset secret)).
Proof.
split=> [h s /set0Pn[q qs]|h s [[q /estimate_possible qs] v]].
  apply/negP => /subsetP sub; apply: (h s); split; first by exists q; apply/estimate_possible.
  by move=> q' /estimate_possible/sub.
have /h/negP : estimate s != set0 by apply/set0Pn; exists q.
by apply; apply/subsetP => q' /estimate_possible/v.
Qed.

(* The observer of the reversed system: before X t has the states from which a run with observation t may end in X *)
Definition reach_back X : {set Q} := [set q | [exists x in X, connect silent q x]].
Definition moved_back (a : E) X : {set Q} := [set q | [exists x in X, move a q x]].
Fixpoint before X t : {set Q} := if t is a :: t' then reach_back (moved_back a (before X t')) else X.

Lemma beforeP q t : reflect (goes_on q t) (q \in before setT t).
Proof.
elim: t q => [|a t IH] q /=; first by rewrite inE; left; exists [::].
apply: (iffP idP) => [|[r rr]].
  rewrite inE => /exists_inP[y]; rewrite inE => /exists_inP[z /IH[r' rr' ro'] yz] /connect_run[r [rr ro re]].
  exists (r ++ (Some a, z) :: r'); first by rewrite run_cat rr /= re yz.
  by rewrite observation_cat ro /= ro'.
elim: r q rr => [|[[b|] q'] r IHr] q //= /andP[qq' rr].
  case=> ba ro; rewrite inE; apply/exists_inP; exists q; rewrite ?connect0//.
  by rewrite inE; apply/exists_inP; exists q'; [apply/IH; exists r|rewrite -ba].
move=> /(IHr _ rr); rewrite !inE => /exists_inP[y yX h]; apply/exists_inP; exists y => //.
by apply: connect_trans h; exact: connect1.
Qed.

Theorem two_way_product i s q : (i <= size s)%N ->
  possible i s q <-> q \in estimate (take i s) :&: before setT (drop i s).
Proof.
move=> im; rewrite possibleE inE; split=> [[_ -> /beforeP->]//|/andP[qs /beforeP g]].
by split.
Qed.

(* What is left, after the events t, of the states of X that are not secret *)
Definition left_of X t : {set Q} := after (reach (X :\: secret)) t.

Lemma split_run r i : (i <= size (observation r))%N -> exists r1 r2, r = r1 ++ r2 /\ size (observation r1) = i.
Proof.
elim: r i => [|[[a|] q] r IH] [|i] //=; try by move=> _; exists [::]; eexists.
  by move=> /IH[r1 [r2 [-> <-]]]; exists ((Some a, q) :: r1), r2.
by move=> /IH[r1 [r2 [-> <-]]]; exists ((None, q) :: r1), r2.
Qed.

Lemma some_possible i s : (i <= size s)%N -> estimate s != set0 -> exists q, possible i s q.
Proof.
move=> im /set0Pn[q' /afterP[q0 q0i [r [rr ro _]]]].
have [|r1 [r2 [rE r1i]]] := @split_run r i; first by rewrite ro.
by exists (end_of q0 r1), q0, r1, r2; rewrite -rE.
Qed.

Theorem delayed_violation i s : (i <= size s)%N -> estimate s != set0 ->
  violates i s <-> left_of (estimate (take i s)) (drop i s) = set0.
Proof.
move=> im e0; split=> [[_ v]|l0].
  apply/eqP; rewrite -[_ == _]negbK; apply/negP => /set0Pn[q /afterP[x]].
  rewrite inE => /andP[xS xX] [r [rr ro _]].
  by move/negP: xS; apply; apply: v; rewrite possibleE; split=> //; exists r.
split; first exact: some_possible.
move=> q /possibleE[_ qX [r rr ro]]; rewrite -[_ \in _]negbK; apply/negP => qS.
have := in_set0 (end_of q r); rewrite -l0 => /negbT/negP; apply.
by apply/afterP; exists q; [rewrite inE qS|exists r].
Qed.

(* The estimator: the estimate, and the last `kept` of the sets that delayed_violation speaks of, the youngest first *)
Fixpoint kept_sets (kept : nat) (X : {set Q}) (sets : seq {set Q}) s : {set Q} * seq {set Q} :=
  if s is a :: s' then
    let X' := step X a in
    kept_sets kept X' (take kept (reach (X' :\: secret) :: [seq step Y a | Y <- sets])) s'
  else (X, sets).

Definition estimator (k : nat) s : {set Q} * seq {set Q} :=
  kept_sets k.+1 (reach initial) [:: reach (reach initial :\: secret)] s.

(* What is left of instant m - j of s, m the number of its events *)
Definition delayed s (j : nat) : {set Q} := left_of (estimate (take (size s - j) s)) (drop (size s - j) s).

Lemma estimate_rcons s a : estimate (rcons s a) = step (estimate s) a.
Proof. by rewrite /estimate /after -cats1 foldl_cat. Qed.

Lemma delayed0 s : delayed s 0 = reach (estimate s :\: secret).
Proof. by rewrite /delayed subn0 take_size drop_size. Qed.

Lemma delayed_rcons s a j : (j <= size s)%N -> delayed (rcons s a) j.+1 = step (delayed s j) a.
Proof.
move=> js; rewrite /delayed size_rcons subSS -cats1 takel_cat ?leq_subr// drop_cat.
case: ltnP => [_|]; first by rewrite /left_of /after foldl_cat.
rewrite leq_subRL// -{2}[size s]add0n leq_add2r leqn0 => /eqP->.
by rewrite subn0 subnn drop0 drop_size.
Qed.

Lemma kept_sets_rcons kept X sets s a : kept_sets kept X sets (rcons s a) =
  let: (X', sets') := kept_sets kept X sets s in
  (step X' a, take kept (reach (step X' a :\: secret) :: [seq step Y a | Y <- sets'])).
Proof. by elim: s X sets => //= b s IH X sets; rewrite IH. Qed.

Lemma estimatorE k s : estimator k s = (estimate s, [seq delayed s j | j <- iota 0 (minn k (size s)).+1]).
Proof.
elim/last_ind: s => [|s a IH]; first by rewrite /estimator minn0 /= delayed0.
rewrite /estimator kept_sets_rcons -/(estimator k s) IH estimate_rcons size_rcons /=; congr (_, _ :: _).
  by rewrite delayed0 estimate_rcons.
have -> : (minn k (size s).+1 = minn k (minn k (size s)).+1)%N.
  by case: (leqP k (size s)) => [ks|sk]; [rewrite (minn_idPl (leqW ks)) (minn_idPl (leqnSn k))|].
rewrite -(map_cons (step^~ a)) -(map_cons (delayed s)) -[0%N :: _]/(iota 0 (minn k (size s)).+1).
rewrite -map_comp -map_take take_iota [in RHS](iotaDl 1 0) -map_comp; apply/eq_in_map => j.
rewrite mem_iota /= add0n => jk; rewrite delayed_rcons//.
by move: jk; rewrite leq_min ltnS => /andP[_]; rewrite leq_min => /andP[_].
Qed.

Lemma estimator_sees k s : estimate s != set0 ->
  set0 \in (estimator k s).2 <-> exists2 i, (size s - k <= i <= size s)%N & violates i s.
Proof.
move=> e0; rewrite estimatorE -[(_, _).2]/(map _ _); split.
  move=> /mapP[j].
  rewrite mem_iota /= add0n ltnS leq_min => /andP[jk js] /esym l0.
  exists (size s - j)%N; first by rewrite leq_subr leq_sub2l.
  by apply/delayed_violation; rewrite ?leq_subr.
case=> i /andP[ki im] v; apply/mapP; exists (size s - i)%N.
  by rewrite mem_iota /= add0n ltnS leq_min leq_subr leq_subLR addnC -leq_subLR ki.
by rewrite /delayed subKn//; apply/esym/delayed_violation.
Qed.

Lemma violates_estimate i s : violates i s -> estimate s != set0.
Proof.
move=> [[q /possibleE[_ /afterP[q0 q0i [r [rr ro re]]] [r' rr' ro']]] _].
apply/set0Pn; exists (end_of q0 (r ++ r')); apply/afterP; exists q0 => //.
by exists (r ++ r'); rewrite run_cat rr re rr' observation_cat ro ro' cat_take_drop.
Qed.

Theorem weak_k_step_opacity k :
  (forall i s, (size s - k <= i <= size s)%N -> ~ violates i s) <->
  forall s, (estimator k s).1 != set0 -> set0 \notin (estimator k s).2.
Proof.
split=> [h s|h i s ki v].
  rewrite {1}estimatorE -[(_, _).1]/(estimate s) => e0; apply/negP => /(estimator_sees _ e0)[i]; exact: h.
have e0 := violates_estimate v; have := h s; rewrite {1}estimatorE => /(_ e0)/negP; apply.
by apply/estimator_sees => //; exists i.
Qed.

Theorem infinite_step_opacity :
  (forall i s, (i <= size s)%N -> ~ violates i s) <->
  forall s, (estimator (size s) s).1 != set0 -> set0 \notin (estimator (size s) s).2.
Proof.
split=> [h s|h i s im v].
  rewrite {1}estimatorE -[(_, _).1]/(estimate s) => e0; apply/negP => /(estimator_sees _ e0)[i /andP[_]]; exact: h.
have e0 := violates_estimate v; have := h s; rewrite {1}estimatorE => /(_ e0)/negP; apply.
by apply/estimator_sees => //; exists i; rewrite ?subnn.
Qed.

End Opacity.
