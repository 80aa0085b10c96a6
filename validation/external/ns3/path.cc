// One simulated TCP transfer between two hosts over two routers, captured at three points.
//
//   sender -- access -- A -- bottleneck -- B -- exit -- receiver     cross hosts hang on A and on B
//
// Everything is given as --name=value by the Python side, which knows what the values mean; what
// happened is printed as one JSON object. The captures hold the first bytes of every packet that
// the interface carried, as raw IP (link type 101) or as ns-3 writes them itself, in PPP (9).
// Hosts never stall here: every pause has its cause in an application, in a window or on the path.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const uint32_t PPP_BYTES = 2;

std::vector<std::string>
Split(const std::string& text, char mark)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, mark);)
    {
        parts.push_back(part);
    }
    return parts;
}

// "1.5:20,4:5" is {1.5, 20}, {4, 5}.
std::vector<std::vector<double>>
Rows(const std::string& text)
{
    std::vector<std::vector<double>> rows;
    for (const std::string& part : Split(text, ','))
    {
        std::vector<double> row;
        for (const std::string& number : Split(part, ':'))
        {
            row.push_back(std::stod(number));
        }
        rows.push_back(row);
    }
    return rows;
}

Ipv4Address
SourceOf(Ptr<const Packet> packet)
{
    uint8_t bytes[PPP_BYTES + 20];
    if (packet->CopyData(bytes, sizeof(bytes)) < sizeof(bytes))
    {
        return Ipv4Address::GetAny();
    }
    return Ipv4Address::Deserialize(bytes + PPP_BYTES + 12);
}

// The first bytes of each packet of an interface.
class Tap
{
  public:
    Tap(const std::string& file, Ptr<NetDevice> device, bool isRaw, uint32_t snap)
        : m_isRaw(isRaw)
    {
        m_file.Open(file, std::ios::out);
        m_file.Init(isRaw ? 101 : 9, snap, 0, false, true);
        device->TraceConnectWithoutContext("PromiscSniffer", MakeCallback(&Tap::Write, this));
    }

    void Close()
    {
        m_file.Close();
    }

  private:
    void Write(Ptr<const Packet> packet)
    {
        Ptr<Packet> copy = packet->Copy();
        if (m_isRaw)
        {
            copy->RemoveAtStart(PPP_BYTES);
        }
        int64_t now = Simulator::Now().GetNanoSeconds();
        m_file.Write(now / 1000000000, now % 1000000000, copy);
    }

    PcapFile m_file;
    bool m_isRaw;
};

// What the path does to packets beside queueing them: loses, polices, delays, reorders.
class Trouble : public ErrorModel
{
  public:
    double loss = 0;             // independent
    double badShare = 0;         // Gilbert: share of packets in the bad state,
    double badLength = 1;        // mean number of packets there, all of which are lost
    double reorder = 0;          // share of packets that are held back
    double heldSeconds = 0;
    double jitterSeconds = 0;    // greatest; the order is kept
    double policedRate = 0;      // bytes per second; 0: none
    double policedBurst = 0;     // bytes
    bool isDown = false;
    Ipv4Address watched;
    uint32_t lost = 0;           // packets of the watched address
    uint32_t policed = 0;
    uint32_t fallen = 0;         // lost while down
    uint32_t held = 0;

    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("ns3::Trouble").SetParent<ErrorModel>();
        return id;
    }

    void Attach(Ptr<NetDevice> device)
    {
        m_device = DynamicCast<PointToPointNetDevice>(device);
        m_device->SetReceiveErrorModel(this);
        m_random = CreateObject<UniformRandomVariable>();
    }

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        if (m_isSecond)
        {
            return false;
        }
        bool isWatched = SourceOf(packet) == watched;
        if (isDown)
        {
            fallen += isWatched;
            return true;
        }
        if (loss > 0 && m_random->GetValue() < loss)
        {
            lost += isWatched;
            return true;
        }
        if (badShare > 0)
        {
            double leave = 1 / badLength;
            double enter = leave * badShare / (1 - badShare);
            m_isBad = m_isBad ? m_random->GetValue() >= leave : m_random->GetValue() < enter;
            if (m_isBad)
            {
                lost += isWatched;
                return true;
            }
        }
        if (policedRate > 0 && !Conforms(packet))
        {
            policed += isWatched;
            return true;
        }
        return Delayed(packet, isWatched);
    }

    bool Conforms(Ptr<Packet> packet)
    {
        double now = Simulator::Now().GetSeconds();
        m_tokens = m_isFirst ? policedBurst
                             : std::min(policedBurst, m_tokens + (now - m_filled) * policedRate);
        m_isFirst = false;
        m_filled = now;
        if (m_tokens < packet->GetSize())
        {
            return false;
        }
        m_tokens -= packet->GetSize();
        return true;
    }

    bool Delayed(Ptr<Packet> packet, bool isWatched)
    {
        double now = Simulator::Now().GetSeconds();
        double at = now;
        if (reorder > 0 && m_random->GetValue() < reorder)
        {
            at += heldSeconds * (0.5 + m_random->GetValue());
            held += isWatched;
        }
        else if (jitterSeconds > 0)
        {
            m_last = std::max(m_last, now + jitterSeconds * m_random->GetValue());
            at = m_last;
        }
        if (at == now)
        {
            return false;
        }
        Simulator::Schedule(Seconds(at - now), &Trouble::Again, this, packet->Copy());
        return true;
    }

    void Again(Ptr<Packet> packet)
    {
        m_isSecond = true;
        m_device->Receive(packet);
        m_isSecond = false;
    }

    void DoReset() override
    {
    }

    Ptr<PointToPointNetDevice> m_device;
    Ptr<UniformRandomVariable> m_random;
    bool m_isSecond = false;
    bool m_isBad = false;
    bool m_isFirst = true;
    double m_tokens = 0;
    double m_filled = 0;
    double m_last = 0;
};

struct Plan
{
    std::string app = "bulk"; // bulk, bursts, paced, respond
    bool isDownload = false;  // the receiver connects and asks
    double start = 1;
    double seconds = 0;  // writing ends after this long; 0: only by bytes
    uint64_t bytes = 0;  // in all; 0: only by time
    uint32_t chunk = 0;  // bytes of a burst, a write, an object
    double interval = 0; // between writes; mean pause after a burst; client's think time
    double spread = 0;   // relative half width of it
    double think = 0;    // server's, before it answers
    uint32_t requests = 0;
    uint32_t mss = 1448;
    uint32_t sndbuf = 8000000;
    uint32_t rcvbuf = 6000000;
    double readRate = 0; // bytes per second; 0: at once
    double readPause = 0;
    double readEvery = 0.01;
};

// Both ends of the transfer under test, and what limited it, sampled.
class Transfer
{
  public:
    Transfer(const Plan& plan, Ptr<Node> sender, Ptr<Node> receiver, Ipv4Address to, Ipv4Address from)
        : m_plan(plan),
          m_sender(sender),
          m_receiver(receiver),
          m_from(from),
          m_to(to)
    {
        m_random = CreateObject<UniformRandomVariable>();
        m_rwnd = plan.rcvbuf; // until the first one arrives
        Simulator::Schedule(Seconds(plan.start), &Transfer::Begin, this);
    }

    bool IsActive() const
    {
        return m_sending && m_first >= 0 && !m_isOver;
    }

    bool IsOver() const
    {
        return m_isOver;
    }

    double First() const
    {
        return m_first;
    }

    double Last() const
    {
        return m_last;
    }

    // Called once per tick while the transfer is active.
    void Sample()
    {
        if (m_flight == 0 && m_written > 0 && m_received >= m_written &&
            (m_isWritten || m_sending->GetTxAvailable() >= m_plan.sndbuf))
        {
            m_ticks[m_isWritten ? "closing" : "empty"]++;
            return;
        }
        uint32_t queued = m_plan.sndbuf - m_sending->GetTxAvailable();
        bool hasUnsent = queued > m_flight + m_plan.mss;
        if (hasUnsent && m_flight + m_plan.mss > m_rwnd)
        {
            m_ticks["rwnd"]++;
        }
        else if (hasUnsent)
        {
            m_ticks["cwnd"]++;
        }
        else if (queued + m_plan.mss > m_plan.sndbuf)
        {
            m_ticks["sndbuf"]++;
        }
        else
        {
            m_ticks["sent"]++;
        }
        m_zero += m_rwnd < m_plan.mss;
    }

    std::string Report() const
    {
        std::ostringstream text;
        text << "\"received\":" << m_received << ",\"written\":" << m_written
             << ",\"first\":" << m_first << ",\"last\":" << m_last << ",\"zero_ticks\":" << m_zero
             << ",\"recoveries\":" << m_recoveries << ",\"timeouts\":" << m_timeouts
             << ",\"left_slow_start\":" << (m_hasLeftSlowStart ? "true" : "false")
             << ",\"longest_silence\":" << m_silence << ",\"sender\":\"" << m_name << "\"";
        for (const auto& [name, count] : m_ticks)
        {
            text << ",\"" << name << "_ticks\":" << count;
        }
        return text.str();
    }

  private:
    Ptr<Socket> Make(Ptr<Node> node, bool isSender)
    {
        Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        socket->SetAttribute("SndBufSize", UintegerValue(isSender ? m_plan.sndbuf : 131072));
        socket->SetAttribute("RcvBufSize", UintegerValue(isSender ? 131072 : m_plan.rcvbuf));
        return socket;
    }

    void Begin()
    {
        Ptr<Socket> passive = Make(m_plan.isDownload ? m_sender : m_receiver, m_plan.isDownload);
        Ptr<Socket> active = Make(m_plan.isDownload ? m_receiver : m_sender, !m_plan.isDownload);
        uint16_t port = m_plan.isDownload ? 80 : 5201;
        passive->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        passive->Listen();
        passive->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                   MakeCallback(&Transfer::OnAccept, this));
        active->Bind();
        if (m_plan.isDownload)
        {
            OnReceiving(active);
        }
        else
        {
            OnSending(active);
        }
        active->SetConnectCallback(MakeCallback(&Transfer::OnConnected, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        active->Connect(InetSocketAddress(m_plan.isDownload ? m_from : m_to, port));
        m_passive = passive;
    }

    void OnAccept(Ptr<Socket> socket, const Address&)
    {
        if (m_plan.isDownload)
        {
            OnSending(socket);
        }
        else
        {
            OnReceiving(socket);
        }
    }

    void OnConnected(Ptr<Socket> socket)
    {
        if (m_plan.isDownload)
        {
            Ask();
        }
        else
        {
            Write();
        }
    }

    void OnSending(Ptr<Socket> socket)
    {
        m_sending = socket;
        socket->SetSendCallback(MakeCallback(&Transfer::OnSpace, this));
        socket->SetRecvCallback(MakeCallback(&Transfer::OnRequest, this));
        socket->TraceConnectWithoutContext("RWND", MakeCallback(&Transfer::OnRwnd, this));
        socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Transfer::OnCwnd, this));
        socket->TraceConnectWithoutContext("SlowStartThreshold",
                                           MakeCallback(&Transfer::OnSsthresh, this));
        socket->TraceConnectWithoutContext("BytesInFlight", MakeCallback(&Transfer::OnFlight, this));
        socket->TraceConnectWithoutContext("CongState", MakeCallback(&Transfer::OnState, this));
    }

    void OnReceiving(Ptr<Socket> socket)
    {
        m_receiving = socket;
        socket->SetRecvCallback(MakeCallback(&Transfer::OnData, this));
        if (m_plan.readRate > 0)
        {
            Simulator::Schedule(Seconds(m_plan.readEvery), &Transfer::ReadSlowly, this);
        }
    }

    // The client's side.
    void Ask()
    {
        m_receiving->Send(Create<Packet>(200 + uint32_t(m_random->GetValue() * 200)));
        m_asked++;
        m_wanted += m_plan.chunk;
    }

    void OnData(Ptr<Socket> socket)
    {
        if (m_plan.readRate <= 0)
        {
            while (Ptr<Packet> packet = socket->Recv())
            {
                if (packet->GetSize() == 0)
                {
                    break;
                }
                Count(packet->GetSize());
            }
        }
    }

    void ReadSlowly()
    {
        double wait = m_plan.readEvery;
        if (m_plan.readPause > 0 && m_random->GetValue() < m_plan.readEvery / (4 * m_plan.readPause))
        {
            wait += m_plan.readPause * (0.5 + m_random->GetValue());
        }
        else if (Ptr<Packet> packet = m_receiving->Recv(uint32_t(m_plan.readRate * m_plan.readEvery), 0))
        {
            Count(packet->GetSize());
        }
        if (!m_isOver)
        {
            Simulator::Schedule(Seconds(wait), &Transfer::ReadSlowly, this);
        }
    }

    void Count(uint32_t size)
    {
        double now = Simulator::Now().GetSeconds();
        if (m_received > 0)
        {
            m_silence = std::max(m_silence, now - m_last);
        }
        m_received += size;
        m_last = now;
        if (m_plan.app == "respond" && m_received >= m_wanted && m_asked < m_plan.requests)
        {
            Simulator::Schedule(Seconds(Drawn(m_plan.interval)), &Transfer::Ask, this);
        }
        if (m_isWritten && m_received >= m_written)
        {
            m_isOver = true;
        }
    }

    // The server's or writer's side.
    void OnRequest(Ptr<Socket> socket)
    {
        uint32_t size = 0;
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            size += packet->GetSize();
        }
        if (size > 0)
        {
            Simulator::Schedule(Seconds(Drawn(m_plan.think)), &Transfer::Write, this);
        }
    }

    void Write()
    {
        if (m_plan.app == "bulk")
        {
            m_end = m_plan.seconds > 0 ? Simulator::Now().GetSeconds() + m_plan.seconds : 1e9;
            m_left = m_plan.bytes > 0 ? m_plan.bytes : UINT64_MAX;
        }
        else if (m_plan.app == "respond")
        {
            m_left += m_plan.chunk;
            m_answered++;
        }
        else
        {
            if (m_end == 0)
            {
                m_end = Simulator::Now().GetSeconds() + m_plan.seconds;
            }
            m_left += m_plan.chunk;
            if (m_plan.app == "paced")
            {
                Simulator::Schedule(Seconds(Drawn(m_plan.interval)), &Transfer::Next, this);
            }
        }
        Fill();
    }

    void Next()
    {
        if (Simulator::Now().GetSeconds() >= m_end)
        {
            Finish();
            return;
        }
        Write();
    }

    double Drawn(double mean)
    {
        return mean * (1 + m_plan.spread * (2 * m_random->GetValue() - 1));
    }

    void OnSpace(Ptr<Socket>, uint32_t)
    {
        if (m_left > 0)
        {
            Fill();
        }
    }

    void Fill()
    {
        if (m_isWritten)
        {
            return;
        }
        if (m_plan.app == "bulk" && Simulator::Now().GetSeconds() >= m_end)
        {
            Finish();
            return;
        }
        while (m_left > 0)
        {
            uint64_t size = std::min<uint64_t>({m_left, m_sending->GetTxAvailable(), 65536});
            if (size == 0 || m_sending->Send(Create<Packet>(uint32_t(size))) < 0)
            {
                return;
            }
            if (m_first < 0)
            {
                m_first = Simulator::Now().GetSeconds();
                m_name = Named();
            }
            m_written += size;
            m_left -= m_left == UINT64_MAX ? 0 : size;
        }
        if (m_plan.app == "bulk" || (m_plan.app == "respond" && m_answered >= m_plan.requests))
        {
            Finish();
        }
        else if (m_plan.app == "bursts")
        {
            Simulator::Schedule(Seconds(Drawn(m_plan.interval)), &Transfer::Next, this);
        }
    }

    void Finish()
    {
        m_isWritten = true;
        m_left = 0;
        m_sending->Close();
        m_isOver = m_received >= m_written;
    }

    std::string Named() const
    {
        Address name;
        m_sending->GetSockName(name);
        std::ostringstream text;
        text << m_from << ":" << InetSocketAddress::ConvertFrom(name).GetPort();
        return text.str();
    }

    void OnRwnd(uint32_t, uint32_t now)
    {
        m_rwnd = now;
    }

    void OnCwnd(uint32_t, uint32_t now)
    {
        m_hasLeftSlowStart |= now >= m_ssthresh;
    }

    void OnSsthresh(uint32_t, uint32_t now)
    {
        m_ssthresh = now;
    }

    void OnFlight(uint32_t, uint32_t now)
    {
        m_flight = now;
    }

    void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        m_recoveries += now == TcpSocketState::CA_RECOVERY;
        m_timeouts += now == TcpSocketState::CA_LOSS;
    }

    Plan m_plan;
    Ptr<Node> m_sender;
    Ptr<Node> m_receiver;
    Ipv4Address m_from;
    Ipv4Address m_to;
    Ptr<UniformRandomVariable> m_random;
    Ptr<Socket> m_passive;
    Ptr<Socket> m_sending;
    Ptr<Socket> m_receiving;
    std::string m_name;
    std::map<std::string, uint32_t> m_ticks;
    double m_first = -1;
    double m_last = 0;
    double m_end = 0;
    double m_silence = 0;
    uint64_t m_left = 0;
    uint64_t m_written = 0;
    uint64_t m_received = 0;
    uint64_t m_wanted = 0;
    uint32_t m_asked = 0;
    uint32_t m_answered = 0;
    uint32_t m_rwnd = 0;
    uint32_t m_flight = 0;
    uint32_t m_ssthresh = UINT32_MAX;
    uint32_t m_zero = 0;
    uint32_t m_recoveries = 0;
    uint32_t m_timeouts = 0;
    bool m_hasLeftSlowStart = false;
    bool m_isWritten = false;
    bool m_isOver = false;
};

// Queue and use of the bottleneck while the transfer is active.
class Gauge
{
  public:
    Gauge(Transfer& transfer,
          Ptr<QueueDisc> queue,
          Ptr<QueueDisc> reverse,
          Ptr<NetDevice> device,
          Ipv4Address watched)
        : m_transfer(transfer),
          m_queue(queue),
          m_reverse(reverse),
          m_device(DynamicCast<PointToPointNetDevice>(device)),
          m_watched(watched)
    {
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Gauge::OnSent, this));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Gauge::OnDrop, this));
        queue->TraceConnectWithoutContext("Mark", MakeCallback(&Gauge::OnMark, this));
        Simulator::Schedule(MilliSeconds(1), &Gauge::Tick, this);
    }

    std::string Report() const
    {
        std::ostringstream text;
        double ticks = std::max<double>(1, m_ticks);
        text << "\"ticks\":" << m_ticks << ",\"queued\":" << m_queued / ticks
             << ",\"reverse_queued\":" << m_reverseQueued / ticks << ",\"mean_queue_ms\":" << m_delay / ticks << ",\"capacity_bytes\":" << m_capacity
             << ",\"own_bytes\":" << m_own << ",\"other_bytes\":" << m_other
             << ",\"queue_drops\":" << m_drops << ",\"other_drops\":" << m_otherDrops
             << ",\"marks\":" << m_marks;
        return text.str();
    }

  private:
    void Tick()
    {
        if (m_transfer.IsActive())
        {
            m_transfer.Sample();
            DataRateValue rate;
            m_device->GetAttribute("DataRate", rate);
            double bytesPerSecond = rate.Get().GetBitRate() / 8.0;
            m_ticks++;
            m_capacity += bytesPerSecond / 1000;
            m_queued += m_queue->GetNPackets() >= 2;
            m_reverseQueued += m_reverse->GetNPackets() >= 2;
            m_delay += 1000.0 * m_queue->GetNBytes() / bytesPerSecond;
        }
        if (!m_transfer.IsOver())
        {
            Simulator::Schedule(MilliSeconds(1), &Gauge::Tick, this);
        }
        else if (!m_isEnding)
        {
            m_isEnding = true;
            Simulator::Stop(Seconds(1.5));
        }
    }

    void OnSent(Ptr<const Packet> packet)
    {
        if (m_transfer.IsActive())
        {
            (SourceOf(packet) == m_watched ? m_own : m_other) += packet->GetSize();
        }
    }

    bool IsOwn(Ptr<const QueueDiscItem> item) const
    {
        Ptr<const Ipv4QueueDiscItem> found = DynamicCast<const Ipv4QueueDiscItem>(item);
        return found && found->GetHeader().GetSource() == m_watched;
    }

    void OnDrop(Ptr<const QueueDiscItem> item)
    {
        (IsOwn(item) ? m_drops : m_otherDrops)++;
    }

    void OnMark(Ptr<const QueueDiscItem> item, const char*)
    {
        m_marks += IsOwn(item);
    }

    Transfer& m_transfer;
    Ptr<QueueDisc> m_queue;
    Ptr<QueueDisc> m_reverse;
    Ptr<PointToPointNetDevice> m_device;
    Ipv4Address m_watched;
    uint32_t m_ticks = 0;
    double m_queued = 0;
    double m_reverseQueued = 0;
    double m_delay = 0;
    double m_capacity = 0;
    uint64_t m_own = 0;
    uint64_t m_other = 0;
    uint32_t m_drops = 0;
    uint32_t m_otherDrops = 0;
    uint32_t m_marks = 0;
    bool m_isEnding = false;
};

NetDeviceContainer
Link(Ptr<Node> one, Ptr<Node> other, double megabits, double milliseconds)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(megabits * 1e6))));
    link.SetChannelAttribute("Delay", TimeValue(MicroSeconds(int64_t(milliseconds * 1000))));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2p"));
    return link.Install(one, other);
}

// "red:MaxSize=100p;MinTh=10" and such.
Ptr<QueueDisc>
InstallQueue(const std::string& text, Ptr<NetDevice> device)
{
    std::vector<std::string> parts = Split(text, ':');
    ObjectFactory factory;
    TrafficControlHelper helper;
    factory.SetTypeId("ns3::" + parts[0]);
    for (const std::string& pair : Split(parts.size() > 1 ? parts[1] : "", ';'))
    {
        std::vector<std::string> words = Split(pair, '=');
        factory.Set(words[0], StringValue(words[1]));
    }
    Ptr<QueueDisc> queue = factory.Create<QueueDisc>();
    Ptr<TrafficControlLayer> layer = device->GetNode()->GetObject<TrafficControlLayer>();
    layer->SetRootQueueDiscOnDevice(device, queue);
    return queue;
}

Ipv4InterfaceContainer
Number(NetDeviceContainer devices)
{
    static int count = 0;
    count++;
    std::ostringstream base;
    base << "10.1." << count << ".0";
    Ipv4AddressHelper helper;
    helper.SetBase(base.str().c_str(), "255.255.255.0");
    return helper.Assign(devices);
}

void
SetRate(NetDeviceContainer devices, double megabits)
{
    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        DynamicCast<PointToPointNetDevice>(devices.Get(i))
            ->SetDataRate(DataRate(uint64_t(megabits * 1e6)));
    }
}

void
SetDelay(Ptr<Channel> channel, double milliseconds)
{
    channel->SetAttribute("Delay", TimeValue(MicroSeconds(int64_t(milliseconds * 1000))));
}

void
SetDown(Ptr<Trouble> trouble, bool isDown)
{
    trouble->isDown = isDown;
}

} // namespace

int
main(int argc, char* argv[])
{
    Plan plan;
    std::string prefix = "out", link = "raw", tcp = "TcpCubic", queue = "FifoQueueDisc:MaxSize=100p",
                senderQueue = "FifoQueueDisc:MaxSize=1000p", middle = "in", rateSteps, delaySteps,
                outages, udp, crossTcp, crossCongestion = "TcpCubic", reverseQueue = "FifoQueueDisc:MaxSize=300p";
    uint32_t seed = 1, snap = 96, delayedAcks = 2, reverseTcp = 0;
    double rate = 10, delay = 10, accessRate = 1000, accessDelay = 1, exitRate = 1000, exitDelay = 1,
           loss = 0, ackLoss = 0, badShare = 0, badLength = 3, reorder = 0, held = 0, jitter = 0,
           policedRate = 0, policedBurst = 0, minRto = 0.2, delayedAckTimeout = 0.04, stop = 120;
    bool sack = true, ecn = false;
    CommandLine line;
    line.AddValue("prefix", "of the files", prefix);
    line.AddValue("link", "raw or ppp", link);
    line.AddValue("snap", "bytes per packet", snap);
    line.AddValue("seed", "run number", seed);
    line.AddValue("tcp", "congestion control", tcp);
    line.AddValue("sack", "", sack);
    line.AddValue("ecn", "", ecn);
    line.AddValue("mss", "", plan.mss);
    line.AddValue("minRto", "s", minRto);
    line.AddValue("delayedAcks", "segments", delayedAcks);
    line.AddValue("delayedAckTimeout", "s", delayedAckTimeout);
    line.AddValue("rate", "Mbit/s of the bottleneck", rate);
    line.AddValue("delay", "ms one way", delay);
    line.AddValue("accessRate", "", accessRate);
    line.AddValue("accessDelay", "", accessDelay);
    line.AddValue("exitRate", "", exitRate);
    line.AddValue("exitDelay", "", exitDelay);
    line.AddValue("queue", "Disc:Name=value;...", queue);
    line.AddValue("senderQueue", "", senderQueue);
    line.AddValue("reverseQueue", "", reverseQueue);
    line.AddValue("middle", "in or out: before or behind the bottleneck's queue", middle);
    line.AddValue("rateSteps", "s:Mbit/s,...", rateSteps);
    line.AddValue("delaySteps", "s:ms,...", delaySteps);
    line.AddValue("outages", "s:s,...", outages);
    line.AddValue("loss", "share of data packets", loss);
    line.AddValue("ackLoss", "", ackLoss);
    line.AddValue("badShare", "", badShare);
    line.AddValue("badLength", "", badLength);
    line.AddValue("reorder", "", reorder);
    line.AddValue("held", "s", held);
    line.AddValue("jitter", "s", jitter);
    line.AddValue("policedRate", "Mbit/s", policedRate);
    line.AddValue("policedBurst", "bytes", policedBurst);
    line.AddValue("udp", "start:stop:Mbit/s:mean on s:mean off s,...", udp);
    line.AddValue("crossTcp", "start:stop:receive buffer,...", crossTcp);
    line.AddValue("crossCongestion", "", crossCongestion);
    line.AddValue("reverseTcp", "number of transfers the other way", reverseTcp);
    line.AddValue("stop", "s", stop);
    line.AddValue("app", "", plan.app);
    line.AddValue("download", "", plan.isDownload);
    line.AddValue("start", "", plan.start);
    line.AddValue("seconds", "", plan.seconds);
    line.AddValue("bytes", "", plan.bytes);
    line.AddValue("chunk", "", plan.chunk);
    line.AddValue("interval", "", plan.interval);
    line.AddValue("spread", "", plan.spread);
    line.AddValue("think", "", plan.think);
    line.AddValue("requests", "", plan.requests);
    line.AddValue("sndbuf", "", plan.sndbuf);
    line.AddValue("rcvbuf", "", plan.rcvbuf);
    line.AddValue("readRate", "", plan.readRate);
    line.AddValue("readPause", "", plan.readPause);
    line.AddValue("readEvery", "", plan.readEvery);
    line.Parse(argc, argv);

    RngSeedManager::SetSeed(20);
    RngSeedManager::SetRun(seed);
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + tcp)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(plan.mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delayedAcks));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(delayedAckTimeout)));
    Config::SetDefault("ns3::TcpSocket::PersistTimeout", TimeValue(Seconds(0.2)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));

    std::vector<std::vector<double>> udps = Rows(udp), tcps = Rows(crossTcp);
    uint32_t pairs = udps.size() + tcps.size() + reverseTcp;
    NodeContainer nodes(4 + 2 * pairs);
    Ptr<Node> sender = nodes.Get(0), a = nodes.Get(1), b = nodes.Get(2), receiver = nodes.Get(3);
    InternetStackHelper stack;
    stack.Install(nodes);

    NetDeviceContainer access = Link(sender, a, accessRate, accessDelay);
    NetDeviceContainer narrow = Link(a, b, rate, delay);
    NetDeviceContainer exit = Link(b, receiver, exitRate, exitDelay);
    Ptr<QueueDisc> queueOfSender = InstallQueue(senderQueue, access.Get(0));
    InstallQueue("FifoQueueDisc:MaxSize=1000p", access.Get(1));
    Ptr<QueueDisc> queueOfPath = InstallQueue(queue, narrow.Get(0));
    Ptr<QueueDisc> queueBack = InstallQueue(reverseQueue, narrow.Get(1));
    InstallQueue("FifoQueueDisc:MaxSize=1000p", exit.Get(0));
    InstallQueue("FifoQueueDisc:MaxSize=1000p", exit.Get(1));
    Ipv4InterfaceContainer first = Number(access);
    Number(narrow);
    Ipv4InterfaceContainer last = Number(exit);
    Ipv4Address from = first.GetAddress(0), to = last.GetAddress(1);

    std::vector<Ipv4Address> lefts, rights;
    for (uint32_t i = 0; i < pairs; i++)
    {
        NetDeviceContainer left = Link(nodes.Get(4 + 2 * i), a, 1000, 1 + 3 * i);
        NetDeviceContainer right = Link(b, nodes.Get(5 + 2 * i), 1000, 1 + 2 * i);
        for (NetDeviceContainer both : {left, right})
        {
            InstallQueue("FifoQueueDisc:MaxSize=1000p", both.Get(0));
            InstallQueue("FifoQueueDisc:MaxSize=1000p", both.Get(1));
        }
        lefts.push_back(Number(left).GetAddress(0));
        rights.push_back(Number(right).GetAddress(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<Trouble> there = CreateObject<Trouble>(), back = CreateObject<Trouble>();
    there->loss = loss;
    there->badShare = badShare;
    there->badLength = badLength;
    there->reorder = reorder;
    there->heldSeconds = held;
    there->jitterSeconds = jitter;
    there->policedRate = policedRate * 1e6 / 8;
    there->policedBurst = policedBurst;
    there->watched = from;
    there->Attach(narrow.Get(1));
    back->loss = ackLoss;
    back->watched = to;
    back->Attach(narrow.Get(0));

    for (const auto& step : Rows(rateSteps))
    {
        Simulator::Schedule(Seconds(step[0]), &SetRate, narrow, step[1]);
    }
    for (const auto& step : Rows(delaySteps))
    {
        Simulator::Schedule(Seconds(step[0]), &SetDelay, narrow.Get(0)->GetChannel(), step[1]);
    }
    for (const auto& outage : Rows(outages))
    {
        for (Ptr<Trouble> each : {there, back})
        {
            Simulator::Schedule(Seconds(outage[0]), &SetDown, each, true);
            Simulator::Schedule(Seconds(outage[0] + outage[1]), &SetDown, each, false);
        }
    }

    uint32_t pair = 0;
    for (const auto& row : udps)
    {
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
        sink.Install(nodes.Get(5 + 2 * pair));
        OnOffHelper source("ns3::UdpSocketFactory", InetSocketAddress(rights[pair], 9));
        source.SetAttribute("DataRate", DataRateValue(DataRate(uint64_t(row[2] * 1e6))));
        source.SetAttribute("PacketSize", UintegerValue(1200));
        for (int i = 0; i < 2; i++)
        {
            Ptr<ExponentialRandomVariable> time = CreateObject<ExponentialRandomVariable>();
            time->SetAttribute("Mean", DoubleValue(row[3 + i]));
            source.SetAttribute(i == 0 ? "OnTime" : "OffTime", PointerValue(time));
        }
        ApplicationContainer apps = source.Install(nodes.Get(4 + 2 * pair));
        apps.Start(Seconds(row[0]));
        apps.Stop(Seconds(row[1]));
        pair++;
    }
    for (uint32_t i = 0; i < tcps.size() + reverseTcp; i++, pair++)
    {
        bool isReverse = i >= tcps.size();
        uint32_t from = (isReverse ? 5 : 4) + 2 * pair, at = (isReverse ? 4 : 5) + 2 * pair;
        std::vector<double> row = isReverse ? std::vector<double>{0.2, stop, 4e6} : tcps[i];
        std::ostringstream path;
        path << "/NodeList/" << nodes.Get(from)->GetId() << "/$ns3::TcpL4Protocol/SocketType";
        Config::Set(path.str(), TypeIdValue(TypeId::LookupByName("ns3::" + crossCongestion)));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(uint32_t(row[2])));
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8000000));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 7));
        ApplicationContainer sinks = sink.Install(nodes.Get(at));
        sinks.Start(Seconds(0.05));
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress((isReverse ? lefts : rights)[pair], 7));
        source.SetAttribute("SendSize", UintegerValue(16384));
        ApplicationContainer apps = source.Install(nodes.Get(from));
        apps.Start(Seconds(row[0]));
        apps.Stop(Seconds(row[1]));
    }

    bool isRaw = link == "raw";
    Tap atSender(prefix + ".sender.pcap", access.Get(0), isRaw, snap);
    Tap atMiddle(prefix + ".middle.pcap", middle == "in" ? access.Get(1) : exit.Get(0), isRaw, snap);
    Tap atReceiver(prefix + ".receiver.pcap", exit.Get(1), isRaw, snap);

    Transfer transfer(plan, sender, receiver, to, from);
    Gauge gauge(transfer, queueOfPath, queueBack, narrow.Get(0), from);
    Simulator::Stop(Seconds(stop));
    Simulator::Run();
    atSender.Close();
    atMiddle.Close();
    atReceiver.Close();
    std::cout << "{" << transfer.Report() << "," << gauge.Report() << ",\"lost\":" << there->lost
              << ",\"policed\":" << there->policed << ",\"fallen\":" << there->fallen
              << ",\"held\":" << there->held << ",\"acks_lost\":" << back->lost
              << ",\"sender_drops\":" << queueOfSender->GetStats().nTotalDroppedPackets
              << ",\"over\":" << (transfer.IsOver() ? "true" : "false") << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
