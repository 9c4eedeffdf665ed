-- SPDX-License-Identifier: GPL-2.0-only
--
-- A dissector for Wireshark and tshark, 4.0 and 4.4: RPC-over-RDMA version 2, revision 01
-- (draft-cel-nfsv4-rpcrdma-version-two-01). Later revisions use the same version number with another header,
-- which this would misread.
--
--   tshark -X lua_script:harness/dissector/rpcordma-v2.lua -2 -r capture.pcapng -Y rpcordma_v2
--   wireshark -X lua_script:harness/dissector/rpcordma-v2.lua capture.pcapng
--
-- Root's Wireshark 4.4 loads no scripts, and does not say so: use it as another user.
--
-- To have it loaded always, copy it into the folder that `tshark -G folders` calls "Personal Lua Plugins".
--
-- It reads Sends of reliable connections over InfiniBand and RoCE, in frames that were captured whole. Version 1 stays
-- with the built-in dissector ("rpcordma"), which takes no other version. The fields are called rpcordma_v2.*, with the
-- names of the built-in dissector's where that has such a field. Two say what is wrong:
--
--   rpcordma_v2.malformed   what is not the header that the draft's XDR describes; nothing behind it is read
--   rpcordma_v2.violation   what the XDR allows and the draft, or the version 1 that it builds on, does not
--
-- A whole RPC message behind a header goes to the RPC dissector. What travels in chunks is not put together: a message
-- with such parts is shown as bytes. So is what follows an RDMA2_OPTIONAL header: whether that is a whole message, a
-- part of one or none at all depends on the option.
--
-- A Send of several packets is shown with its last packet. For that, packets have to be seen in order and with their
-- fields: by tshark with -Y, -V or -T; in Wireshark, once the display filter "rpcordma_v2" has been applied.

local v2 = Proto("rpcordma_v2", "RPC over RDMA, version 2")

local VERSION = 2
local MSG, NOMSG, ERROR, OPTIONAL = 0, 1, 4, 5
local CALL, REPLY = 0, 1
local ERR_VERS, ERR_BAD_HEADER, ERR_INVAL_OPTION = 1, 2, 3
local FIXED_SIZE, SEGMENT_SIZE, READ_SEGMENT_SIZE = 16, 16, 20
-- The start of an RPC message: XID and msg_type.
local RPC_START_SIZE = 8
-- No Send is larger; packets that never end are not gathered.
local LARGEST_SEND = 1024 * 1024
local UNKNOWN_QUEUE_PAIR = 0xffffffff

local procs = { [MSG] = "RDMA2_MSG", [NOMSG] = "RDMA2_NOMSG", [ERROR] = "RDMA2_ERROR", [OPTIONAL] = "RDMA2_OPTIONAL" }
local directions = { [CALL] = "CALL", [REPLY] = "REPLY" }
local errors = {
    [ERR_VERS] = "RDMA2_ERR_VERS",
    [ERR_BAD_HEADER] = "RDMA2_ERR_BAD_HEADER",
    [ERR_INVAL_OPTION] = "RDMA2_ERR_INVAL_OPTION",
}

local fields = {
    xid = ProtoField.uint32("rpcordma_v2.xid", "XID", base.HEX),
    version = ProtoField.uint32("rpcordma_v2.version", "Version"),
    credits = ProtoField.uint32("rpcordma_v2.credits", "Credits"),
    proc = ProtoField.uint32("rpcordma_v2.proc", "Header type", base.DEC, procs),
    direction = ProtoField.uint32("rpcordma_v2.direction", "Direction", base.DEC, directions),
    size = ProtoField.uint32("rpcordma_v2.size", "Size of the message"),

    reads = ProtoField.none("rpcordma_v2.reads", "Read list"),
    reads_count = ProtoField.uint32("rpcordma_v2.reads_count", "Read segments"),
    position = ProtoField.uint32("rpcordma_v2.position", "Position"),
    writes = ProtoField.none("rpcordma_v2.writes", "Write list"),
    writes_count = ProtoField.uint32("rpcordma_v2.writes_count", "Write chunks"),
    reply = ProtoField.none("rpcordma_v2.reply", "Reply chunk"),
    reply_count = ProtoField.uint32("rpcordma_v2.reply_count", "Reply chunks"),
    segment_count = ProtoField.uint32("rpcordma_v2.segment_count", "Segments"),
    segment = ProtoField.none("rpcordma_v2.segment", "Segment"),
    handle = ProtoField.uint32("rpcordma_v2.rdma_handle", "Handle", base.HEX),
    length = ProtoField.uint32("rpcordma_v2.rdma_length", "Length"),
    offset = ProtoField.uint64("rpcordma_v2.rdma_offset", "Offset", base.HEX),

    error = ProtoField.uint32("rpcordma_v2.error", "Error", base.DEC, errors),
    vers_low = ProtoField.uint32("rpcordma_v2.vers_low", "Lowest version"),
    vers_high = ProtoField.uint32("rpcordma_v2.vers_high", "Highest version"),

    opttype = ProtoField.uint32("rpcordma_v2.opttype", "Option"),
    optinfo_length = ProtoField.uint32("rpcordma_v2.optinfo_length", "Length of the information"),
    optinfo = ProtoField.bytes("rpcordma_v2.optinfo", "Information"),

    payload = ProtoField.bytes("rpcordma_v2.payload", "Payload"),
    payload_length = ProtoField.uint32("rpcordma_v2.payload_length", "Length of the payload"),
    packets = ProtoField.uint32("rpcordma_v2.packets", "Packets of the message"),
    fragment = ProtoField.bytes("rpcordma_v2.fragment", "Part of a message that ends later"),
}
v2.fields = fields

local group, severity = expert.group, expert.severity
local experts = {
    malformed = ProtoExpert.new("rpcordma_v2.malformed", "Malformed header", group.MALFORMED, severity.ERROR),
    violation = ProtoExpert.new("rpcordma_v2.violation", "Not allowed", group.PROTOCOL, severity.WARN),
}
v2.experts = experts

-- What the packet's own dissector has found; nothing in a pass without details.
local bth = {
    opcode = Field.new("infiniband.bth.opcode"),
    padding = Field.new("infiniband.bth.padcnt"),
    psn = Field.new("infiniband.bth.psn"),
}
local rpc = Dissector.get("rpc")

local function malformed(tree, text)
    tree:add_proto_expert_info(experts.malformed, text)
end

local function violation(tree, text)
    tree:add_proto_expert_info(experts.violation, text)
end

-- The header, read word by word up to the end of the message. What reads a part of it returns nil where there is no
-- such part, and has then said so in the tree.

local Header = {}
Header.__index = Header

function Header.new(tvb, size)
    return setmetatable({ tvb = tvb, at = 0, size = size }, Header)
end

function Header:left()
    return self.size - self.at
end

-- The next bytes.
function Header:take(length, tree, what)
    if length > self:left() then
        local missing = length - self:left()
        malformed(tree, string.format("The message ends %d bytes before the end of %s", missing, what))
        return nil
    end
    local range = self.tvb:range(self.at, length)
    self.at = self.at + length
    return range
end

-- A number of four bytes, and the item that shows it.
function Header:number(tree, field, what)
    local range = self:take(4, tree, what)
    if not range then
        return nil
    end
    return range:uint(), tree:add(field, range)
end

-- Whether an optional part is there.
function Header:present(tree, what)
    local range = self:take(4, tree, what)
    if not range then
        return nil
    end
    local value = range:uint()
    if value > 1 then
        malformed(tree, string.format("%s: neither there (1) nor not (0): 0x%08x", what, value))
        return nil
    end
    return value == 1
end

function Header:direction(tree)
    local value, item = self:number(tree, fields.direction, "the direction")
    if value and not directions[value] then
        malformed(item, string.format("%d is no direction", value))
        return nil
    end
    return value
end

-- The length of a segment that has been read.
local function show_segment(tree, range)
    tree:add(fields.handle, range:range(0, 4))
    tree:add(fields.length, range:range(4, 4))
    tree:add(fields.offset, range:range(8, 8))
    return range:range(4, 4):uint()
end

-- A list in the tree, which grows as its entries are read.
function Header:list(tree, field)
    local start = self.at
    local list = tree:add(field, self.tvb:range(start, math.min(4, self:left())))
    return list, function(count_field, count)
        list:set_len(self.at - start)
        list:add(count_field, self.tvb:range(start, self.at - start), count):set_generated()
        list:append_text(string.format(" (%d)", count))
    end
end

-- Whether there is a word to begin a list with.
function Header:begins(tree, what)
    if self:left() >= 4 then
        return true
    end
    return self:take(4, tree, what)
end

-- How many Read segments there are. Each takes bytes of the message, so the list ends.
function Header:reads(tree)
    if not self:begins(tree, "the Read list") then
        return nil
    end
    local list, ends = self:list(tree, fields.reads)
    local count = 0
    while true do
        local more = self:present(list, "the Read list")
        if more == nil then
            return nil
        elseif not more then
            ends(fields.reads_count, count)
            return count
        end
        local range = self:take(READ_SEGMENT_SIZE, list, "a Read segment")
        if not range then
            return nil
        end
        count = count + 1
        local entry = list:add(fields.segment, range)
        entry:add(fields.position, range:range(0, 4))
        show_segment(entry, range:range(4))
    end
end

-- How many bytes the segments of a Write chunk or Reply chunk have room for.
function Header:chunk(tree)
    local count, item = self:number(tree, fields.segment_count, "a chunk")
    if not count then
        return nil
    end
    if count * SEGMENT_SIZE > self:left() then
        malformed(item, string.format("%d segments do not fit into %d bytes", count, self:left()))
        return nil
    end
    local room = 0
    for _ = 1, count do
        local range = self:take(SEGMENT_SIZE, item, "a segment")
        if not range then
            return nil
        end
        room = room + show_segment(item:add(fields.segment, range), range)
    end
    return room
end

-- How many bytes all Write chunks have room for. Each takes bytes of the message, so the list ends.
function Header:writes(tree)
    if not self:begins(tree, "the Write list") then
        return nil
    end
    local list, ends = self:list(tree, fields.writes)
    local count, room = 0, 0
    while true do
        local more = self:present(list, "the Write list")
        if more == nil then
            return nil
        elseif not more then
            ends(fields.writes_count, count)
            return room
        end
        local in_chunk = self:chunk(list)
        if not in_chunk then
            return nil
        end
        count = count + 1
        room = room + in_chunk
    end
end

-- Whether the Reply chunk could be read, if there is one.
function Header:reply(tree)
    if not self:begins(tree, "the Reply chunk") then
        return nil
    end
    local list, ends = self:list(tree, fields.reply)
    local is_there = self:present(list, "the Reply chunk")
    if is_there == nil or (is_there and not self:chunk(list)) then
        return nil
    end
    ends(fields.reply_count, is_there and 1 or 0)
    return true
end

-- What follows the fixed fields, by header type. Each returns the direction, and whether parts of the payload travel
-- in chunks.

local function read_chunk_lists(header, tree)
    local direction = header:direction(tree)
    local reads = direction and header:reads(tree)
    local room = reads and header:writes(tree)
    if not room or not header:reply(tree) then
        return nil
    end
    -- In a Call, Write chunks are room for a Reply. A Reply names what has been written there.
    return direction, reads > 0 or (direction == REPLY and room > 0)
end

local function read_error(header, tree)
    -- Section 4.2.2: that is the direction of each.
    tree:add(fields.direction, REPLY):set_generated()
    local code, item = header:number(tree, fields.error, "the error")
    if not code then
        return nil
    elseif not errors[code] then
        malformed(item, string.format("%d is no error", code))
        return nil
    elseif code == ERR_VERS then
        local low = header:number(tree, fields.vers_low, "the lowest version")
        if not low then
            return nil
        end
        local high, high_item = header:number(tree, fields.vers_high, "the highest version")
        if not high then
            return nil
        elseif low > high then
            violation(high_item, "The highest version is lower than the lowest")
        end
    end
    return REPLY, false
end

local function read_optional(header, tree)
    local direction = header:direction(tree)
    if not direction or not header:number(tree, fields.opttype, "the option") then
        return nil
    end
    local length, item = header:number(tree, fields.optinfo_length, "the option's information")
    if not length then
        return nil
    end
    local padding = -length % 4
    if length + padding > header:left() then
        malformed(item, string.format("%d bytes do not fit into %d bytes", length, header:left()))
        return nil
    end
    local info = header:take(length + padding, item, "the option's information")
    if not info then
        return nil
    elseif length > 0 then
        tree:add(fields.optinfo, info:range(0, length))
    end
    return direction, false
end

local readers = {
    [MSG] = read_chunk_lists,
    [NOMSG] = read_chunk_lists,
    [ERROR] = read_error,
    [OPTIONAL] = read_optional,
}

-- Section 4.2.2: the direction and XID are those of the RPC message. No payload that begins otherwise is one.
local function begins_an_rpc_message(payload, tree, xid, direction)
    if payload:len() < RPC_START_SIZE then
        violation(tree, "The payload is no RPC message")
        return false
    end
    local rpc_xid, msg_type = payload:range(0, 4):uint(), payload:range(4, 4):uint()
    if rpc_xid ~= xid then
        violation(tree, string.format("The RPC message has another XID: 0x%08x", rpc_xid))
    elseif msg_type ~= direction then
        violation(tree, string.format("The RPC message has another direction: %s", directions[msg_type] or msg_type))
    else
        return true
    end
    return false
end

-- Has the RPC dissector show a message. It finds the Call of a Reply by the addresses and queue pairs of both. Where
-- the connection's beginning was not captured, the sender's queue pair is not known: then the addresses have to do.
local function show_rpc(payload, pinfo, tree)
    local source, destination = pinfo.src_port, pinfo.dst_port
    if source == UNKNOWN_QUEUE_PAIR then
        pinfo.src_port, pinfo.dst_port = 0, 0
    end
    -- What fails in there has been shown there.
    pcall(rpc.call, rpc, payload:tvb(), pinfo, tree)
    pinfo.src_port, pinfo.dst_port = source, destination
end

-- What follows the header, in a message that has been read so far.
local function show_payload(header, item, pinfo, tree, message)
    local length = header:left()
    item:add(fields.payload_length, length):set_generated()
    if length == 0 then
        if message.proc == MSG then
            violation(item, "No payload follows")
        end
        return
    end
    local payload = header.tvb:range(header.at, length)
    local shown = item:add(fields.payload, payload)
    if message.proc == NOMSG or message.proc == ERROR then
        violation(shown, procs[message.proc] .. " has no payload")
    elseif message.proc == MSG and begins_an_rpc_message(payload, shown, message.xid, message.direction)
        and not message.is_reduced then
        show_rpc(payload, pinfo, tree)
    end
end

local function show(tvb, size, packets, pinfo, tree)
    local header = Header.new(tvb, size)
    local item = tree:add(v2, tvb:range(0, size))
    local xid = header:number(item, fields.xid)
    header:number(item, fields.version)
    local credits, credits_item = header:number(item, fields.credits)
    local proc = header:number(item, fields.proc)
    if credits == 0 then
        violation(credits_item, "Nobody may ask for no credit, or grant none")
    end
    item:add(fields.size, size):set_generated()
    if packets > 1 then
        item:add(fields.packets, packets):set_generated()
    end

    pinfo.cols.protocol = "RPCoRDMAv2"
    local direction, is_reduced = readers[proc](header, item)
    local shown_direction = direction and " " .. directions[direction] or ""
    pinfo.cols.info = string.format("%s%s XID 0x%08x", procs[proc], shown_direction, xid)
    if not direction then
        pinfo.cols.info:append(" [malformed]")
        return
    end
    show_payload(header, item, pinfo, tree,
        { proc = proc, xid = xid, direction = direction, is_reduced = is_reduced })
    item:set_len(header.at)
end

-- Whether that is the start of a version 2 header, malformed perhaps. Of the two words behind the fixed fields, each of
-- which has few values, one may be wrong: what has two wrong ones is something else.
local function is_plausible(tvb, size)
    if size < FIXED_SIZE or tvb:range(4, 4):uint() ~= VERSION then
        return false
    end
    local proc = tvb:range(12, 4):uint()
    if proc == ERROR then
        -- A code, perhaps a range, and not much that does not belong there.
        return size <= FIXED_SIZE + 64
    elseif not procs[proc] then
        return false
    elseif size < FIXED_SIZE + 8 or tvb:range(FIXED_SIZE, 4):uint() <= REPLY then
        return true
    end
    -- That there is a Read list, or is none; or the option.
    return tvb:range(FIXED_SIZE + 4, 4):uint() <= (proc == OPTIONAL and 0xffff or 1)
end

-- Packets and the messages that they are parts of

local FIRST, MIDDLE, LAST, ONLY = "first", "middle", "last", "only"
-- Of the opcodes of reliable connections: Sends, also with immediate data and with invalidation.
local sends = { [0] = FIRST, [1] = MIDDLE, [2] = LAST, [3] = LAST, [4] = ONLY, [5] = ONLY, [22] = LAST, [23] = ONLY }

-- By who sends, and to which queue pair: the latest Send of several packets, where that is one of version 2. Its bytes
-- as far as they have come, how many packets that were, and the number of the next one.
local arriving = {}
-- Whole messages, by number of the frame with their last packet: frames are looked at again, in any order.
local messages = {}

function v2.init()
    arriving, messages = {}, {}
end

-- Takes a packet. Returns whether it belongs to a message of version 2, and the message where this is the last of it.
local function gather(kind, psn, bytes, key, plausible)
    local next_psn = (psn + 1) % 2 ^ 24
    if kind == FIRST then
        arriving[key] = plausible and { bytes = bytes, packets = 1, next_psn = next_psn } or nil
        return plausible
    end
    local message = arriving[key]
    -- Another number: sent again, perhaps because a packet was lost, from which on all will come again.
    if not message or psn ~= message.next_psn or message.bytes:len() > LARGEST_SEND then
        return message ~= nil
    end
    message.bytes:append(bytes)
    message.packets = message.packets + 1
    message.next_psn = kind == MIDDLE and next_psn or nil
    return true, kind == LAST and message or nil
end

local function number_of(extractor)
    local found = extractor()
    return found and found.value
end

local function dissect(tvb, pinfo, tree)
    local opcode = number_of(bth.opcode)
    -- Without the packet's fields, what looks like a message is one.
    local kind = opcode and sends[opcode] or not opcode and ONLY
    if not kind then
        return false
    end
    -- The bytes that fill up a packet are still there.
    local size = math.min(tvb:reported_len() - (number_of(bth.padding) or 0), tvb:len())
    local plausible = is_plausible(tvb, size)
    if kind == ONLY then
        if plausible then
            show(tvb, size, 1, pinfo, tree)
        end
        return plausible
    elseif size <= 0 then
        return false
    end

    local range = tvb:range(0, size)
    local key = tostring(pinfo.src) .. " " .. pinfo.dst_port
    local is_part, message = gather(kind, number_of(bth.psn), range:bytes(), key, plausible)
    message = message or messages[pinfo.number]
    messages[pinfo.number] = message
    if message then
        show(message.bytes:tvb("RPC-over-RDMA message"), message.bytes:len(), message.packets, pinfo, tree)
        return true
    elseif is_part then
        pinfo.cols.protocol = "RPCoRDMAv2"
        pinfo.cols.info = "Part of a message"
        tree:add(v2, range):add(fields.fragment, range)
    end
    return is_part
end

-- Who is asked first

-- Wireshark asks the dissectors of a list in turn, and has the one that accepted a packet go to the top. Behind version
-- 1's this one would miss much: in 4.0, that takes RDMA_NOMSG and RDMA_ERROR of any version for its own, and reads
-- beyond the end of messages whose lists are not where it expects them. So whenever another may have accepted a packet,
-- this one accepts a byte of the same frame when that is done, and is at the top again.
local LIST = "infiniband.payload"
local is_behind, is_going_up = false, false

v2:register_heuristic(LIST, function(tvb, pinfo, tree)
    if is_going_up then
        is_behind = false
        return true
    end
    local is_ours = dissect(tvb, pinfo, tree)
    is_behind = is_behind or not is_ours
    return is_ours
end)

local order = Proto("rpcordma_v2_order", "RPC over RDMA, version 2: the order of dissectors")

function order.dissector(tvb, pinfo, tree)
    if is_behind and tvb:len() > 0 then
        is_going_up = true
        pcall(DissectorTable.try_heuristics, LIST, tvb:range(0, 1):tvb(), pinfo, tree)
        is_going_up = false
    end
end

register_postdissector(order)
