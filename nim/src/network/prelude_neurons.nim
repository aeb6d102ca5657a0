## Neuron models that are built in, in the network language.

const
  NeuronTexts* = [
    # Leaky integrate and fire: Lapicque 1907, in the form of Gerstner and Kistler, "Spiking Neuron Models" (2002), section 4.1.
    ("lif", """
neuron lif:
  params(tau = 20.ms, el = -70.mV, vt = -50.mV, vr = -70.mV, r = 100.MOhm, t_ref = 2.ms)
  variables(v = el, i)
  dv/dt = (el - v + r*i) / tau
  threshold: v > vt
  reset: v = vr
  refractory: t_ref
  target: v
"""),
    # Exponential currents: Tsodyks, Uziel, Markram 2000; names and values of NEST's iaf_psc_exp.
    ("iaf_psc_exp", """
neuron iaf_psc_exp:
  params(c_m = 250.pF, tau_m = 10.ms, e_l = -70.mV, v_th = -55.mV, v_reset = -70.mV, t_ref = 2.ms, tau_ex = 2.ms, tau_in = 2.ms, i_e = 0.pA)
  variables(v = e_l, i_ex, i_in, i)
  dv/dt = (e_l - v)/tau_m + (i_ex + i_in + i_e + i)/c_m
  di_ex/dt = -i_ex/tau_ex
  di_in/dt = -i_in/tau_in
  threshold: v > v_th
  reset: v = v_reset
  refractory: t_ref
  target: i_ex
"""),
    # Alpha-shaped currents, whose peak is the weight: Rotter and Diesmann 1999; values of NEST's iaf_psc_alpha.
    ("iaf_psc_alpha", """
neuron iaf_psc_alpha:
  params(c_m = 250.pF, tau_m = 10.ms, e_l = -70.mV, v_th = -55.mV, v_reset = -70.mV, t_ref = 2.ms, tau_ex = 2.ms, tau_in = 2.ms, i_e = 0.pA)
  variables(v = e_l, i_ex, i_in, j_ex, j_in, i)
  dv/dt = (e_l - v)/tau_m + (i_ex + i_in + i_e + i)/c_m
  di_ex/dt = (2.718281828459045*j_ex - i_ex)/tau_ex
  dj_ex/dt = -j_ex/tau_ex
  di_in/dt = (2.718281828459045*j_in - i_in)/tau_in
  dj_in/dt = -j_in/tau_in
  threshold: v > v_th
  reset: v = v_reset
  refractory: t_ref
  target: j_ex
"""),
    # Exponential conductances: Meffin, Burkitt, Grayden 2004; values of NEST's iaf_cond_exp.
    ("iaf_cond_exp", """
neuron iaf_cond_exp:
  params(c_m = 250.pF, g_l = 16.6667.nS, e_l = -70.mV, v_th = -55.mV, v_reset = -60.mV, t_ref = 2.ms, e_ex = 0.mV, e_in = -85.mV,
         tau_ex = 0.2.ms, tau_in = 2.ms, i_e = 0.pA)
  variables(v = e_l, g_ex, g_in, i)
  dv/dt = (g_l*(e_l - v) + g_ex*(e_ex - v) + g_in*(e_in - v) + i_e + i)/c_m
  dg_ex/dt = -g_ex/tau_ex
  dg_in/dt = -g_in/tau_in
  threshold: v > v_th
  reset: v = v_reset
  refractory: t_ref
  target: g_ex
"""),
    # Brette and Gerstner 2005. The exponential is bounded at the peak, so that the last step before a spike stays finite.
    ("adex", """
neuron adex:
  params(c_m = 281.pF, g_l = 30.nS, e_l = -70.6.mV, v_t = -50.4.mV, delta_t = 2.mV, tau_w = 144.ms, a = 4.nS, b = 80.5.pA, v_reset = -70.6.mV,
         v_peak = 0.mV, t_ref = 0.ms, e_ex = 0.mV, e_in = -85.mV, tau_ex = 0.2.ms, tau_in = 2.ms, i_e = 0.pA)
  variables(v = e_l, g_ex, g_in, i)
  bounded = min(v, v_peak)
  dv/dt = (g_l*(e_l - v) + g_l*delta_t*exp((bounded - v_t)/delta_t) - w + g_ex*(e_ex - v) + g_in*(e_in - v) + i_e + i)/c_m
  dw/dt = (a*(bounded - e_l) - w)/tau_w
  dg_ex/dt = -g_ex/tau_ex
  dg_in/dt = -g_in/tau_in
  threshold: v > v_peak
  reset:
    v = v_reset
    w += b
  refractory: t_ref
  integrator: rk4
  target: g_ex
"""),
    # Izhikevich 2003; v and u in volts.
    ("izhikevich", """
neuron izhikevich:
  params(a = 0.02, b = 0.2, c = -65.mV, d = 8.mV, v_peak = 30.mV)
  variables(v = -65.mV, u = b*(-65.mV), i)
  dv/dt = (0.04*v^2/mV + 5*v + 140.mV - u + i)/ms
  du/dt = a*(b*v - u)/ms
  threshold: v > v_peak
  reset:
    v = c
    u += d
  integrator: euler
  target: v
"""),
    # Hodgkin and Huxley 1952 with the channels of Traub and Miles 1991, as in the benchmark of Brette et al. 2007.
    ("hodgkin_huxley", """
neuron hodgkin_huxley:
  params(c_m = 200.pF, g_l = 10.nS, e_l = -60.mV, e_k = -90.mV, e_na = 50.mV, g_na = 20.uS, g_kd = 6.uS, v_t = -63.mV, v_th = -20.mV,
         t_ref = 3.ms, e_ex = 0.mV, e_in = -80.mV, tau_ex = 5.ms, tau_in = 10.ms, i_e = 0.pA)
  variables(v = e_l, m, h = 1, n, g_ex, g_in, i)
  alpha_m = 1.28/ms/exprel((13.mV - v + v_t)/4.mV)
  beta_m = 1.4/ms/exprel((v - v_t - 40.mV)/5.mV)
  alpha_h = 0.128/ms*exp((17.mV - v + v_t)/18.mV)
  beta_h = 4/ms/(1 + exp((40.mV - v + v_t)/5.mV))
  alpha_n = 0.16/ms/exprel((15.mV - v + v_t)/5.mV)
  beta_n = 0.5/ms*exp((10.mV - v + v_t)/40.mV)
  dv/dt = (g_l*(e_l - v) + g_ex*(e_ex - v) + g_in*(e_in - v) - g_na*m^3*h*(v - e_na) - g_kd*n^4*(v - e_k) + i_e + i)/c_m
  dm/dt = alpha_m*(1 - m) - beta_m*m
  dh/dt = alpha_h*(1 - h) - beta_h*h
  dn/dt = alpha_n*(1 - n) - beta_n*n
  dg_ex/dt = -g_ex/tau_ex
  dg_in/dt = -g_in/tau_in
  threshold: v > v_th
  refractory: t_ref
  target: g_ex
"""),
    # A spike in each step with probability rate * dt.
    ("poisson", """
neuron poisson:
  variables(rate = 10.Hz)
  threshold: random() < rate*dt
""")]
