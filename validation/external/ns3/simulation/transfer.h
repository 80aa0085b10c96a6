// Both ends of the transfer under test, and what limited it, sampled.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

using namespace ns3;

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

class Transfer
{
  public:
    Transfer(const Plan& plan,
             Ptr<Node> sender,
             Ptr<Node> receiver,
             Ipv4Address to,
             Ipv4Address from)
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
        socket->TraceConnectWithoutContext("CongestionWindow",
                                           MakeCallback(&Transfer::OnCwnd, this));
        socket->TraceConnectWithoutContext("SlowStartThreshold",
                                           MakeCallback(&Transfer::OnSsthresh, this));
        socket->TraceConnectWithoutContext("BytesInFlight",
                                           MakeCallback(&Transfer::OnFlight, this));
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
        double share = m_plan.readPause > 0 ? m_plan.readEvery / (4 * m_plan.readPause) : 0;
        uint32_t most = uint32_t(m_plan.readRate * m_plan.readEvery);
        if (share > 0 && m_random->GetValue() < share)
        {
            wait += m_plan.readPause * (0.5 + m_random->GetValue());
        }
        else if (Ptr<Packet> packet = m_receiving->Recv(most, 0))
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
