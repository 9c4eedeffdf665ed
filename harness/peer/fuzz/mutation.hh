// SPDX-License-Identifier: GPL-2.0-only
//
// Messages changed at random, in their meaning and in their bytes.

#pragma once

#include "codec/header.hh"
#include "fuzz/dice.hh"

namespace peer {

/// Changes one thing that the header says, so that it still is one: its type, its version, its chunk lists and what they
/// have, its credits.
void change(Header &header, Dice &dice);

/// Changes the bytes of a message at one place: in its first @front bytes three times out of four. Where it is empty, bytes
/// are added.
void damage(Bytes &message, std::size_t front, Dice &dice);

} // namespace peer
