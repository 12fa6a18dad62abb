"""Positions of the joints of many arms: each joint turns about z, then leans and steps by its link's constants.

angle (B, J) → (B, J, 3); joint j: rotation R_z(angle) · R_x(lean[j]) after those before it, step length[j] along its x axis.
"""

import torch
from torch import nn

from popcorn.suites.jitter import Dim

DOMAIN = "robotics"
DIFFERENTIABLE = True

B = Dim(524288, low=443023, high=589824, cpu=8192)
J = Dim(7, fixed=True, cpu=7)


class Model(nn.Module):
    def __init__(self, joints: int):
        super().__init__()
        self.lean = nn.Parameter(torch.randn(joints))
        self.length = nn.Parameter(0.2 + torch.rand(joints))

    def forward(self, angle: torch.Tensor) -> torch.Tensor:
        turn = torch.eye(3, dtype=angle.dtype, device=angle.device).expand(angle.shape[0], 3, 3)
        place, places = torch.zeros_like(turn[..., 0]), []
        for joint in range(angle.shape[1]):
            c, s, lean = angle[:, joint].cos(), angle[:, joint].sin(), self.lean[joint]
            cl, sl, none = lean.cos(), lean.sin(), torch.zeros_like(c)
            local = torch.stack((c, -s * cl, s * sl, s, c * cl, -c * sl, none, none + sl, none + cl), -1).view(-1, 3, 3)
            turn = (turn[..., None] * local[:, None]).sum(2)
            place = place + self.length[joint] * turn[..., 0]
            places.append(place)
        return torch.stack(places, 1)


def get_inputs(B=B, J=J):
    return [torch.randn(B, J)]


def get_init_inputs(J=J):
    return [J]


def min_bytes(B=B, J=J, itemsize=4):
    return (B * J + 2 * J + B * J * 3) * itemsize


def flops(B=B, J=J):
    return 70 * B * J
