"""The parts of a cooling plant, one noun each.

A part is sized by the heat it carries at rated IT power, and its functions speak per kW of that heat: heat 1 is the
rated IT heat, flow 1 the design flow, and powers are shares of the rated IT heat. A part keeps parameters only; what
its design point makes of them is computed where the point is known.
"""
