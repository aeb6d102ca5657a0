## Synapses and plasticity rules that are built in, in the network language.

const
  DeltaText = """
synapse delta:
  variables(w)
  on_pre: target += w
"""
  # Tsodyks, Pawelzik, Markram 1998: u is the share of the resources x that a spike uses.
  TsodyksMarkramText = """
synapse tsodyks_markram:
  params(u_0 = 0.5, tau_rec = 800.ms, tau_facil = 1.ms)
  variables(w, u = u_0, x = 1)
  du/dt = (u_0 - u)/tau_facil
  dx/dt = (1 - x)/tau_rec
  on_pre:
    u += u_0*(1 - u)
    target += w*u*x
    x -= u*x
"""
  # An Ohmic contact between two neurons; its target is an input that the equations use as a current.
  GapJunctionText = """
synapse gap_junction:
  variables(w)
  clocked:
    target += w*(v_pre - v_post)
"""
  # Hebb 1949, with traces for the two rates.
  HebbianText = """
synapse hebbian:
  params(learning_rate = 0.001, tau = 20.ms, w_max = 1.0)
  variables(w, x, y)
  dx/dt = -x/tau
  dy/dt = -y/tau
  on_pre:
    target += w
    x += 1
    w = clip(w + learning_rate*w_max*y, 0, w_max)
  on_post:
    y += 1
    w = clip(w + learning_rate*w_max*x, 0, w_max)
"""
  # Oja 1982: what a spike of the target adds is bounded by forgetting in proportion to its own rate.
  OjaText = """
synapse oja:
  params(learning_rate = 0.001, tau = 20.ms, w_max = 1.0)
  variables(w, x, y)
  dx/dt = -x/tau
  dy/dt = -y/tau
  on_pre:
    target += w
    x += 1
  on_post:
    y += 1
    w = clip(w + learning_rate*(x*w_max - y*w), 0, w_max)
"""
  # Bienenstock, Cooper, Munro 1982, with the sliding threshold of Intrator and Cooper 1992.
  BcmText = """
synapse bcm:
  params(learning_rate = 0.001, tau = 20.ms, tau_theta = 1.s, w_max = 1.0)
  variables(w, x, y, theta)
  dx/dt = -x/tau
  dy/dt = -y/tau
  dtheta/dt = (y*y - theta)/tau_theta
  on_pre:
    target += w
    x += 1
  on_post:
    y += 1
    w = clip(w + learning_rate*w_max*x*(y - theta), 0, w_max)
"""
  # Pfister and Gerstner 2006, all-to-all; values of their fit to visual cortex.
  TripletText = """
synapse triplet_stdp:
  params(tau_plus = 16.8.ms, tau_minus = 33.7.ms, tau_x = 101.ms, tau_y = 125.ms, a2_plus = 5e-10, a3_plus = 0.0062, a2_minus = 0.007,
         a3_minus = 0.00023, w_max = 1.0)
  variables(w, r1, r2, o1, o2)
  dr1/dt = -r1/tau_plus
  dr2/dt = -r2/tau_x
  do1/dt = -o1/tau_minus
  do2/dt = -o2/tau_y
  on_pre:
    target += w
    w = clip(w - w_max*o1*(a2_minus + a3_minus*r2), 0, w_max)
    r1 += 1
    r2 += 1
  on_post:
    w = clip(w + w_max*r1*(a2_plus + a3_plus*o2), 0, w_max)
    o1 += 1
    o2 += 1
"""
  # Florian 2007: STDP writes an eligibility trace, which a reward turns into a change of the weight.
  RewardText = """
synapse r_stdp:
  params(tau_plus = 20.ms, tau_minus = 20.ms, tau_c = 1.s, a_plus = 0.01, a_minus = 0.0105, learning_rate = 1.0, w_max = 1.0)
  variables(w, apre, apost, c)
  dapre/dt = -apre/tau_plus
  dapost/dt = -apost/tau_minus
  dc/dt = -c/tau_c
  on_pre:
    target += w
    apre += 1
    c -= a_minus*apost
  on_post:
    apost += 1
    c += a_plus*apre
  on_reward:
    w = clip(w + learning_rate*w_max*reward*c, 0, w_max)
"""
  # Izhikevich 2007: a reward releases dopamine d, and the weight follows c*d.
  DopamineText = """
synapse stdp_dopamine:
  params(tau_plus = 20.ms, tau_minus = 20.ms, tau_c = 1.s, tau_d = 200.ms, a_plus = 0.1, a_minus = 0.15, learning_rate = 1.Hz, w_max = 1.0)
  variables(w, apre, apost, c, d)
  dapre/dt = -apre/tau_plus
  dapost/dt = -apost/tau_minus
  on_pre:
    target += w
    apre += 1
    c -= a_minus*apost
  on_post:
    apost += 1
    c += a_plus*apre
  clocked:
    dw/dt = learning_rate*w_max*c*d
    dc/dt = -c/tau_c
    dd/dt = -d/tau_d
    w = clip(w, 0, w_max)
  on_reward:
    d += reward
"""
  # Vogels, Sprekeler, Zenke, Clopath, Gerstner 2011: inhibition grows until the target fires at rho_0.
  InhibitoryText = """
synapse inhibitory_stdp:
  params(tau = 20.ms, rho_0 = 5.Hz, learning_rate = 0.01, w_max = 1.0, sign = 1.0)
  variables(w, x, y)
  dx/dt = -x/tau
  dy/dt = -y/tau
  on_pre:
    target += sign*w
    x += 1
    w = clip(w + learning_rate*w_max*(y - 2*rho_0*tau), 0, w_max)
  on_post:
    y += 1
    w = clip(w + learning_rate*w_max*x, 0, w_max)
"""
  # Synaptic scaling: Turrigiano et al. 1998, in the form of van Rossum, Bi, Turrigiano 2000.
  HomeostaticText = """
synapse homeostatic:
  params(rho_0 = 5.Hz, tau_rate = 1.s, tau = 10.s, w_max = 1.0)
  variables(w, rate)
  drate/dt = -rate/tau_rate
  on_pre: target += w
  on_post: rate += 1/tau_rate
  clocked:
    dw/dt = w*(rho_0 - rate)/(rho_0*tau)
    w = clip(w, 0, w_max)
"""
  # Butz and van Ooyen 2013, reduced to two rates: among the possible synapses (the pattern's), weak ones vanish and new ones appear, the
  # more of them the further the target is below its rate.
  StructuralText = """
synapse structural:
  params(rho_0 = 5.Hz, tau_rate = 1.s, growth = 0.1.Hz, pruning = 0.1.Hz, w_min = 0.05, w_new = 0.1, tau = 10.s, w_max = 1.0)
  variables(w, rate)
  drate/dt = -rate/tau_rate
  on_pre: target += w
  on_post: rate += 1/tau_rate
  clocked:
    dw/dt = w*(rho_0 - rate)/(rho_0*tau)
    w = where(w > 0 and w < w_min and random() < pruning*dt, 0, w)
    w = where(w <= 0 and random() < growth*dt*max(0, (rho_0 - rate)/rho_0), w_new, w)
    w = clip(w, 0, w_max)
"""

func pairText(name, plus, minus, pairing: string): string =
  ## STDP of pairs of spikes: `plus` and `minus` say how a change depends on the weight, `pairing` whether all earlier spikes count.
  "synapse " & name & ":\n" & """
  params(tau_plus = 20.ms, tau_minus = 20.ms, a_plus = 0.01, a_minus = 0.0105, mu = 0.4, w_max = 1.0)
  variables(w, apre, apost)
  dapre/dt = -apre/tau_plus
  dapost/dt = -apost/tau_minus
  on_pre:
    target += w
    apre """ & pairing & " 1\n    w = clip(w - a_minus*" & minus & "*apost, 0, w_max)\n  on_post:\n    apost " & pairing &
    " 1\n    w = clip(w + a_plus*" & plus & "*apre, 0, w_max)\n"

const
  # Additive: Song, Miller, Abbott 2000. Multiplicative: Rubin, Lee, Sompolinsky 2001. Power law: Gütig et al. 2003.
  # All pairs or only nearest ones: Morrison, Diesmann, Gerstner 2008, section 4.1.
  SynapseTexts* = [
    ("delta", DeltaText),
    ("tsodyks_markram", TsodyksMarkramText),
    ("gap_junction", GapJunctionText),
    ("hebbian", HebbianText),
    ("oja", OjaText),
    ("bcm", BcmText),
    ("stdp", pairText("stdp", "w_max", "w_max", "+=")),
    ("stdp_multiplicative", pairText("stdp_multiplicative", "(w_max - w)", "w", "+=")),
    ("stdp_power", pairText("stdp_power", "w_max*(1 - w/w_max)^mu", "w_max*(w/w_max)^mu", "+=")),
    ("stdp_nearest", pairText("stdp_nearest", "w_max", "w_max", "=")),
    ("stdp_multiplicative_nearest", pairText("stdp_multiplicative_nearest", "(w_max - w)", "w", "=")),
    ("stdp_power_nearest", pairText("stdp_power_nearest", "w_max*(1 - w/w_max)^mu", "w_max*(w/w_max)^mu", "=")),
    ("triplet_stdp", TripletText),
    ("r_stdp", RewardText),
    ("stdp_dopamine", DopamineText),
    ("inhibitory_stdp", InhibitoryText),
    ("homeostatic", HomeostaticText),
    ("structural", StructuralText)]
